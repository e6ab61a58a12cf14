import * as v from 'valibot'
import { DECISIONS } from '../../platform/approvals/approval-decisions.ts'
import { askedKey, DECISION } from '../../platform/crew-contract/step-key.ts'
import { isObject } from '../../shared/is-object.ts'
import { mcpPause } from '../../shared/mcp/messages.ts'
import type { McpPause, Questions } from '../../shared/mcp/messages.ts'
import type { Steps } from '../steps.ts'
import { callTool } from './call-tool.ts'
import type { CrewTool, Resumed, ToolAnswer, ToolCall } from './tool.ts'

/** How often a service may want something in the middle of one call. */
const PAUSES_MAX = 5
/** The wait for a service that wants nothing but to be called again. */
const AGAIN_MS = 1000

const decided = v.object({ decision: v.picklist(DECISIONS), text: v.optional(v.string()) })

interface Conversation {
  readonly tool: CrewTool
  readonly call: ToolCall
  readonly task: string
  readonly secrets: () => readonly string[]
}

/** How far a call has come. */
interface Progress {
  readonly from: Resumed
  /** What its service has wanted so far. */
  readonly pauses: number
  /** A former attempt came as far. */
  readonly isKept: boolean
}

/**
 * Calls a tool within its time, and gives its service what it wants first: the answers of a person,
 * for which the run waits, or the time for a task. Each pause is a step, so that a new attempt
 * continues behind it. Raises the reason of the signal, and what ends the attempt.
 */
export async function converse(steps: Steps, one: Conversation): Promise<ToolAnswer> {
  const { tool, call } = one
  const started = performance.now()
  const leftMs = (): number => Math.max(0, tool.timeoutMs - (performance.now() - started))
  let at: Progress = { from: {}, pauses: 0, isKept: false }
  try {
    for (;;) {
      const path = [...call.path, askedKey(at.pauses)]
      const isKept = steps.isRecorded(path)
      const found = isKept ? undefined : await ask(steps, one, { ...at, leftMs })
      if (found && 'text' in found) return found
      if (found && isNothing(found)) {
        at = { ...at, from: {}, isKept: false }
      } else if (found && isAtWork(found, at.from)) {
        at = { ...at, from: { ...found, answered: at.from.answered } }
      } else {
        const place = { kind: 'tool', path, name: tool.name, schema: mcpPause } as const
        const pause = await steps.perform(place, async () => found ?? {})
        const from = await resume(steps, one, { from: at.from, pause, path })
        at = { from, pauses: at.pauses + 1, isKept }
      }
    }
  } catch (thrown) {
    // A hand-over leaves the task to the next attempt.
    if (call.signal.aborted) await cancel(tool, at.from)
    throw thrown
  }
}

/** Returns the answer to a call, or what its service wants next. */
async function ask(
  steps: Steps,
  { tool, call, secrets }: Conversation,
  { from, pauses, isKept, leftMs }: Progress & { readonly leftMs: () => number },
): Promise<ToolAnswer | McpPause> {
  const waitMs = Math.min(waitOf(from), leftMs())
  if (waitMs > 0) await steps.wait(waitMs)
  const found = await callTool(tool, { ...call, from }, { timeoutMs: leftMs(), secrets })
  if ('text' in found) {
    if (leftMs() === 0) await cancel(tool, from)
    return found
  }
  if (isNothing(found)) {
    // A former attempt was cut off and gave the task up: its call is made again.
    return isKept ? found : problem(`The server gave up its task of ${tool.name}.`)
  }
  if (pauses < PAUSES_MAX || isAtWork(found, from)) return found
  await cancel(tool, { ...from, ...found })
  return problem(
    `The server of ${tool.name} asked ${PAUSES_MAX} times in one call, and asks again. ` +
      'Let the tool take what it needs as arguments.',
  )
}

const problem = (text: string): ToolAnswer => ({ text, isError: true })

const isNothing = ({ questions, requestState, taskId }: McpPause): boolean =>
  questions === undefined && requestState === undefined && taskId === undefined

const isAtWork = ({ questions, taskId }: McpPause, from: Resumed): boolean =>
  questions === undefined && taskId !== undefined && taskId === from.taskId

const waitOf = ({ responses, taskId, requestState, pollMs = AGAIN_MS }: Resumed): number =>
  responses || (taskId === undefined && requestState === undefined) ? 0 : pollMs

async function cancel(tool: CrewTool, { taskId }: Resumed): Promise<void> {
  if (taskId !== undefined) await tool.cancel?.(taskId)
}

/** Returns how the call continues behind a pause, with the answers of a person. */
async function resume(
  steps: Steps,
  one: Conversation,
  { from, pause, path }: { from: Resumed; pause: McpPause; path: readonly string[] },
): Promise<Resumed> {
  const { questions } = pause
  const { answered = [] } = from
  if (!questions) return { ...pause, answered }
  const given = await askPerson(steps, one, { questions, path: [...path, DECISION] })
  const keys = Object.keys(questions)
  const answerTo = (key: string) =>
    given ? { action: 'accept', content: given[key] } : { action: 'decline' }
  const responses = keys.map((key) => [key, answerTo(key)])
  return { ...pause, responses: Object.fromEntries(responses), answered: [...answered, ...keys] }
}

/** Returns what a person answers, by the keys of the questions; undefined from one who declines. */
async function askPerson(
  steps: Steps,
  { tool, call, task }: Conversation,
  { questions, path }: { questions: Questions; path: readonly string[] },
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const { name, key, description, server = '' } = tool
  const pick = <Field extends 'message' | 'schema'>(field: Field) =>
    Object.fromEntries(Object.entries(questions).map(([each, asked]) => [each, asked[field]]))
  const messages = pick('message')
  const form = { properties: pick('schema'), required: Object.keys(questions) }
  const parameters = { type: 'object', ...form, additionalProperties: false }
  const request = { tool: name, arguments: call.arguments, questions }
  const { decision, text = '' } = await steps.perform(
    { kind: 'approval', path, name, input: messages, request, schema: decided },
    async ({ step }) =>
      steps.park({
        type: 'approval_requested',
        step,
        task,
        output: JSON.stringify(call.arguments),
        call: { name, tool: key, description, parameters, question: { server, messages } },
      }),
  )
  const given: unknown = decision === 'edit' ? JSON.parse(text) : undefined
  return isObject(given) ? given : undefined
}
