import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { McpPause } from '../../shared/mcp/messages.ts'
import { problemsUnder } from '../../shared/json-schema.ts'
import { toolError } from './tool.ts'
import type { CrewTool, ToolAnswer, ToolArguments, ToolCall } from './tool.ts'

/** A call that a model asks for. */
export interface AskedCall {
  readonly id: string
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly arguments: string
}

/** A call that can be made, or why it cannot. */
export type ReadCall =
  | { readonly tool: CrewTool; readonly arguments: ToolArguments }
  | { readonly tool: CrewTool | undefined; readonly problem: string }

/** Finds the tool of a call and reads its arguments; says what is wrong for the model to repair. */
export function readCall(tools: readonly CrewTool[], asked: AskedCall): ReadCall {
  const tool = tools.find(({ name }) => name === asked.name)
  if (!tool) {
    const known = tools.map(({ name }) => name).join(', ')
    const problem = `There is no tool ${asked.name.slice(0, 64)}. There are: ${known}.`
    return { tool, problem }
  }
  const given = parse(asked.arguments)
  if (!isObject(given)) {
    return { tool, problem: `The arguments of ${tool.name} must be a JSON object.` }
  }
  const problems = problemsUnder(tool.parameters, given)
  if (problems.length === 0) return { tool, arguments: given }
  return { tool, problem: `The arguments of ${tool.name} are not valid: ${problems.join(' ')}` }
}

/** Some models write nothing where there are no arguments. */
function parse(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How long a call may take, and what no text may have. */
interface CallLimits {
  readonly timeoutMs: number
  readonly secrets: () => readonly string[]
}

/**
 * Calls a tool within its time. A call that fails is an answer too, which the model gets to see;
 * raises the reason of the signal only. Secrets that a service repeats are left out.
 */
export async function callTool(
  tool: CrewTool,
  call: ToolCall,
  { timeoutMs, secrets }: CallLimits,
): Promise<ToolAnswer | McpPause> {
  const { name } = tool
  if (tool.hasSteps) return tool.call(call)
  try {
    const answered = await deadline({ name, timeoutMs, signal: call.signal }, (signal) =>
      tool.call({ ...call, signal }),
    )
    if (!('text' in answered)) return pauseWithout(answered, secrets())
    return { ...answered, text: withoutSecrets(answered.text, secrets()) }
  } catch (thrown) {
    call.signal.throwIfAborted()
    return { text: withoutSecrets(describe(thrown, tool), secrets()), isError: true }
  }
}

/** What a person is asked, and what is kept. A state goes back as it was, or not at all. */
function pauseWithout(pause: McpPause, secrets: readonly string[]): McpPause {
  const { requestState, taskId } = pause
  const kept = [requestState, taskId].join(' ')
  if (withoutSecrets(kept, secrets) !== kept) {
    throw toolError('The server repeats the access token in what it wants to have back.')
  }
  return JSON.parse(withoutSecrets(JSON.stringify(pause), secrets)) as McpPause
}

function describe(thrown: unknown, { name, timeoutMs }: CrewTool): string {
  if (thrown instanceof AppError) {
    if (thrown.code !== 'timeout') return thrown.message
    return `${name} did not answer within ${timeoutMs / 1000} s and was given up.`
  }
  return `${name} cannot be reached: ${reasonOf(thrown)}.`
}

/** Journals keep neither NUL nor half a surrogate pair. */
const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret !== '')
    .reduce((left, secret) => left.replaceAll(secret, '[token]'), text)
    .replace(/\p{Surrogate}|\0/gu, '\ufffd')

/** Returns the system's code, such as ECONNREFUSED, or the message. */
function reasonOf(thrown: unknown): string {
  const error = toError(thrown)
  return 'code' in error && !(error instanceof AppError) ? String(error.code) : error.message
}
