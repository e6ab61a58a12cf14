import type { Completion } from './llm-answer.ts'

/** How much a model reasons before it answers; each model takes some of these. */
export const REASONING_EFFORTS = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] as const
/** How much a model reasons. */
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number]

/** The forms in which models are asked; `auto`: `chat_completions`, or what the answer asks for. */
export const LLM_APIS = ['auto', 'chat_completions', 'responses'] as const
/** A form in which a model is asked. */
export type LlmApi = (typeof LLM_APIS)[number]

/** A call of a model, whichever form it has on the wire. */
export interface LlmCall {
  readonly model: string
  readonly temperature?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: ReasoningEffort
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  /** `none`: the tools are there for what was said before, and may not be called. */
  readonly tool_choice?: 'auto' | 'none'
  /** An endpoint that refuses it is asked again without it. */
  readonly response_format?: ResponseFormat
}

/** The schema of an answer. */
export interface ResponseFormat {
  readonly type: 'json_schema'
  readonly json_schema: {
    readonly name: string
    readonly schema: Readonly<Record<string, unknown>>
    /** The provider guarantees it; it takes some schemas only. */
    readonly strict: boolean
  }
}

/** A part of a message: a text, or an image in a data URL. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: string
  readonly content: string | readonly ContentPart[] | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly type: 'function'
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
  /** Of an assistant: as `items` of its completion. */
  readonly items?: Completion['items']
}

/** Returns the text of a message; images are left out, and named by the text beside them. */
export const messageText = (content: ChatMessage['content']): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')

/** A function that a model may call. */
export interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description: string
    readonly parameters: Readonly<Record<string, unknown>>
  }
}
