import { inputRequired } from '@modelcontextprotocol/server'
import { parseCrewDefinition } from '../../../../services/platform/definitions/crew-definition.ts'
import { storeInputFile } from '../../../../services/platform/runs/input-files.ts'
import { prepareInputs } from '../../../../services/platform/runs/prepare-inputs.ts'
import { decideApproval, findApproval } from '../../../../services/platform/runs/run-approvals.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { definition } from '../../../support/crew.ts'
import { asks, refuses, says } from '../../crew/fake-model.ts'
import type { Answer } from '../../crew/fake-model.ts'
import { startMcpServer2026 } from '../../../support/mcp-server-2026.ts'
import { agentsWith, openReplayStage } from './stage.ts'

const BOOK = { name: 'book', inputSchema: { type: 'object' as const, properties: {} } }
const requestedSchema = {
  type: 'object' as const,
  properties: { ok: { type: 'boolean' as const } },
}
const sure = inputRequired.elicit({ message: 'Sure?', requestedSchema })
const [research, write] = definition.tasks

/** A kind of run: what its version is, what its models say, and what a person decides. */
export interface Kind {
  readonly change?: object
  readonly answers: readonly Answer[]
  readonly decide?: 'approve' | 'edit' | 'reject'
  readonly text?: string
  readonly ends?: 'error'
  /** The content of the file of its input `report`. */
  readonly file?: string
}

type Stage = Awaited<ReturnType<typeof openReplayStage>>

/** Answers by what is asked, so that no order of calls matters. */
const echoes: Answer = (response, request) =>
  says(`Of: ${request.body.messages.at(-1)?.content.slice(0, 60)}`)(response, request)

const delegates = asks([
  'delegate_work_to_coworker',
  { task: 'Find.', context: 'For a report.', coworker: 'Writer' },
])
const guarded = [
  { ...research, guardrails: [{ type: 'schema', schema: { type: 'object' } }] },
  write,
]
const approved = [{ ...research, human_input: true }, write]

const askedBy = (url: string): Kind => ({
  change: {
    tools: {
      travel: {
        type: 'mcp',
        url,
        tools: ['book'],
        pinned: { tools: [{ name: 'book', input_schema: BOOK.inputSchema }] },
      },
    },
    agents: agentsWith(['travel']),
  },
  answers: [asks(['book', {}]), says('Facts.'), says('A summary.')],
  decide: 'edit',
  text: '{"sure":{"ok":true}}',
})

const kindsOf = (
  docs: ReturnType<Stage['docsOf']>,
  asked: Kind,
): Readonly<Record<string, Kind>> => ({
  'tasks in sequence': { answers: [says('Facts.'), says('A summary.')] },
  'tasks beside each other': {
    change: {
      tasks: [
        { ...research, async: true },
        { ...research, key: 'more', description: 'List more of {topic}.', async: true },
        { ...write, context: ['research', 'more'] },
      ],
    },
    answers: [echoes],
  },
  'a manager that delegates': {
    change: { process: 'hierarchical', manager_llm: { model: 'bosses' } },
    answers: [delegates, says('Found by a writer.'), says('Facts.'), says('A summary.')],
  },
  'tools, wrong calls and several at a time': {
    change: { tools: { docs, now: { type: 'time' } }, agents: agentsWith(['docs', 'now']) },
    answers: [
      asks(['look', { q: 'a' }], ['look', { q: 'b' }], ['now', {}]),
      asks(['nothing', {}]),
      says('Facts.'),
      asks(['look', { q: 'a' }]),
      says('A summary.'),
    ],
  },
  'a guardrail with a repair': {
    change: { tasks: guarded },
    answers: [says('Bad.'), says('{"a":1}'), says('A summary.')],
  },
  'an approval': {
    change: { tasks: approved },
    answers: [says('Facts.'), says('A summary.')],
    decide: 'approve',
  },
  'an approval that edits': {
    change: { tasks: approved },
    answers: [says('Facts.'), says('A summary.')],
    decide: 'edit',
  },
  'an approval that rejects': {
    change: { tasks: approved },
    answers: [says('Facts.')],
    decide: 'reject',
    ends: 'error',
  },
  'a question of a server in the middle of a call': asked,
  'a model that refuses': { answers: [says('Facts.'), refuses(400, 'no')], ends: 'error' },
  'a file that is read': {
    change: {
      inputs: [{ name: 'report', type: 'file' }],
      tasks: [{ ...research, description: 'Sum {report} up.' }, write],
    },
    answers: [asks(['read_file', { name: 'report.csv' }]), says('Facts.'), says('A summary.')],
    file: 'a,b\n1,2\n',
  },
})

/** Opens a stage with runs of each kind, and servers that count who calls them. */
export async function openKinds() {
  /** Asks a person in the middle of each call. */
  const travel = await startMcpServer2026([BOOK], {
    answer: ({ responses }) =>
      responses
        ? { content: [{ type: 'text', text: 'Booked.' }] }
        : inputRequired({ inputRequests: { sure }, requestState: 'state-1' }),
  })
  const stage = await openReplayStage([travel.origin])
  const { platform, model, sql } = stage
  const { automation } = platform
  const asked = askedBy(travel.url)

  async function start({ file, change }: Kind): Promise<string> {
    if (file === undefined) return platform.kickoff()
    const sent = { name: 'report.csv', declared: '', chunks: [Buffer.from(file)] }
    const { id: report } = await storeInputFile(sql, { automation, ...sent })
    const crew = parseCrewDefinition({ ...definition, ...change })
    const inputs = { topic: 'whales', report }
    const prepared = await prepareInputs(sql, { automation, definition: crew, inputs })
    return kickoff(sql, { deploymentId: automation.id, ...prepared })
  }

  /** Performs a run, and returns its id once it is over. */
  async function record(kind: Kind): Promise<string> {
    const { answers, decide, text, ends } = kind
    model.play(...answers)
    const id = await start(kind)
    if (decide) {
      await platform.until(id, 'waiting')
      const call = (await findApproval(sql, id))?.call?.id
      const about = { deploymentId: automation.id, runId: id, task: 'research', call }
      await decideApproval(sql, { ...about, decision: decide, text: text ?? 'Said by a person.' })
    }
    await platform.until(id, ends ?? 'completed')
    return id
  }

  return {
    ...stage,
    travel,
    asked,
    kinds: kindsOf(stage.docsOf('look', 'seek'), asked),
    record,
    /** How often a model or a server of tools was asked. */
    calls: () => model.requests.length + stage.server.calls.length + travel.methods.length,
    async stopServers(): Promise<void> {
      await stage.server.stop()
      await travel.stop()
    },
  }
}
