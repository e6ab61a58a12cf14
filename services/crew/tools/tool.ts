import type { JsonSchema } from '../../shared/json-schema.ts'
import type { McpPause } from '../../shared/mcp/messages.ts'
import { AppError } from '../../shared/errors.ts'
import type { Steps } from '../steps.ts'

/** The longest text of a tool that a model is shown. */
export const RESULT_CHARACTERS_MAX = 32_768

/** The answer of a tool, as the model is shown it. */
export interface ToolAnswer {
  readonly text: string
  /** The call failed; the text says why. */
  readonly isError: boolean
}

/** The pause after which a call continues, and what was answered. */
export interface Resumed extends McpPause {
  readonly responses?: Readonly<Record<string, unknown>> | undefined
  /** The keys of all questions of the task that were answered. */
  readonly answered?: readonly string[] | undefined
}

/** The arguments of a call, which are valid under the schema of its tool. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** One call of a tool. */
export interface ToolCall {
  readonly arguments: ToolArguments
  /** The same in each attempt at a run. */
  readonly idempotencyKey: string
  /** The path of its step. */
  readonly path: readonly string[]
  readonly signal: AbortSignal
  /** @default the call begins */
  readonly from?: Resumed | undefined
}

/** A call that a model asks for, and where. */
export interface WantedCall {
  readonly tool: CrewTool
  readonly arguments: ToolArguments
  readonly task: string
  /** The path of its step. */
  readonly path: readonly string[]
}

/** The arguments that a call is made with, or why it is not made. */
export type ApprovedCall = { readonly arguments: ToolArguments } | { readonly problem: string }

/** A function that a model may call. */
export interface CrewTool {
  /** As the model sees it. */
  readonly name: string
  /** The key of the tool in the version. */
  readonly key: string
  readonly type: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly timeoutMs: number
  /**
   * It acts by steps of its own: what it raises is not for the model, and its time has no limit but
   * theirs.
   */
  readonly hasSteps?: boolean
  /** Lets a person decide about a call before it is made. */
  readonly approve?: ((steps: Steps, call: WantedCall) => Promise<ApprovedCall>) | undefined
  /** The automation a run of which answers its calls, in place of `call`. */
  readonly automation?: string
  /** The host of the service that it calls, where that may ask a person. */
  readonly server?: string
  /** Raises an `AppError` for a call that failed, and the reason of the signal. */
  call(call: ToolCall): Promise<ToolAnswer | McpPause>
  /** Gives up a task that a call began. Never raises. */
  cancel?(taskId: string): Promise<void>
}

/** An answer that is no error. */
export const answer = (text: string): ToolAnswer => ({ text, isError: false })

/** Builds the error for a call that a tool cannot do. */
export const toolError = (message: string): AppError => new AppError('bad_gateway', message)

/** Shortens the text of a tool: its beginning, and how much was left out. */
export function cutResult(text: string, max = RESULT_CHARACTERS_MAX): string {
  const left = text.length - max
  return left <= 0
    ? text
    : `${text.slice(0, max)}\n\n(The result was cut here: ${left} more characters were left out.)`
}
