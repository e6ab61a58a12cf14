import { messageText } from '../../../services/shared/models/llm-call.ts'
import { createDocumentReader } from '../../../services/shared/documents/read-document.ts'
import type { Llm } from '../../../services/shared/models/llm.ts'
import type { LlmCall } from '../../../services/shared/models/llm-call.ts'
import type { Completion } from '../../../services/shared/models/llm-answer.ts'
import { runCrew } from '../../../services/crew/run-crew.ts'
import { createSteps } from '../../../services/crew/steps.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import type { KickoffFiles } from '../../../services/platform/crew-contract/kickoff-files.ts'
import { openMaterial } from '../../../services/crew/material/material.ts'
import { parseCrewEvent } from '../../../services/platform/crew-contract/crew-event.ts'
import type {
  CrewEvent,
  RecordedStep,
} from '../../../services/platform/crew-contract/crew-protocol.ts'
import { guardFor } from '../../support/outgoing.ts'

interface RunHere {
  readonly definition: CrewDefinition
  readonly llm: Llm
  readonly inputs?: Readonly<Record<string, unknown>>
  readonly journal?: readonly RecordedStep[]
  readonly stopping?: AbortSignal
  readonly signal?: AbortSignal
  readonly files?: KickoffFiles
  readonly origins?: readonly string[]
  readonly connections?: Readonly<Record<string, { access_token: string }>>
}

/** Runs a crew in this process, and returns what it reports, as a worker reads it. */
export async function runHere(options: RunHere) {
  const { definition, llm, inputs = {}, origins = [], connections = {}, journal = [] } = options
  const { files, stopping = new AbortController().signal } = options
  const { signal = new AbortController().signal } = options
  const events: CrewEvent[] = []
  const write = (event: CrewEvent): number => {
    const read = parseCrewEvent(JSON.stringify(event))
    return read.type === 'other' ? 0 : events.push(read)
  }
  const steps = createSteps({
    runId: 'r',
    base: 'b',
    journal,
    isJournaled: true,
    channel: { write, tell() {}, committed: async () => {} },
    signal,
    stopping,
  })
  const readDocument = createDocumentReader()
  const toolDeps = { guard: guardFor(...origins), connections, readDocument }
  const open = () => openMaterial({ definition, inputs, files }, { readDocument })
  await runCrew({ definition, llmFor: () => llm, steps, toolDeps, open }, inputs)
  return { events, journal: journalOf(events), ...endOf(events) }
}

function endOf(events: readonly CrewEvent[]) {
  const last = events.at(-1)
  const completed = last?.type === 'crew_completed' ? last : undefined
  return {
    last,
    failure: last?.type === 'failed' ? last.error : undefined,
    output: completed?.output,
    usage: completed?.usage,
    asked: last?.type === 'approval_requested' ? last : undefined,
  }
}

/** The journal that a new attempt gets when these events are all that was committed. */
export function journalOf(events: readonly CrewEvent[]): RecordedStep[] {
  const started = events.filter((each) => each.type === 'step_started')
  const finished = events.filter((each) => each.type === 'step_finished')
  return finished.flatMap(({ step, result, usage }): RecordedStep[] => {
    const { kind, parent } = started.find((each) => each.step === step) ?? {}
    const isCovered = finished.some((each) => each.step === parent)
    return kind === undefined || isCovered ? [] : [{ step, kind, result, usage }]
  })
}

/** The paths of the steps that began, in their order. */
export const pathsOf = (events: readonly CrewEvent[]): string[] =>
  events.flatMap((each) => (each.type === 'step_started' ? [each.path.join('/')] : []))

export type Reply = Partial<Pick<Completion, 'text' | 'toolCalls'>> | string

interface ModelHere {
  readonly llm: Llm
  readonly calls: LlmCall[]
}

/** A model in this process that answers as a test says, and keeps what it was asked. */
export function modelHere(reply: (call: LlmCall) => Reply | Promise<Reply>): ModelHere {
  const calls: LlmCall[] = []
  return {
    calls,
    llm: {
      provider: 'test',
      address: 'localhost',
      port: 1,
      async complete(call) {
        calls.push(call)
        const said = await reply(call)
        const answer = typeof said === 'string' ? { text: said } : said
        return { ok: true, attempts: 1, text: '', inputTokens: 10, outputTokens: 5, ...answer }
      },
    },
  }
}

/** The text of all messages that a model got. */
export const promptOf = ({ messages }: LlmCall): string =>
  messages.map(({ content }) => messageText(content)).join('\n')
