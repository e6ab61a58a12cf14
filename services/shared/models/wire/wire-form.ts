import type { Completion } from '../llm-answer.ts'
import type { LlmCall } from '../llm-call.ts'

/** Hears the text of an answer while it is written; the offset is where it begins in the answer. */
export type HearText = (text: string, offset: number) => void

/** An answer that comes in parts. */
export interface StreamedAnswer {
  /** Takes the data of one event. */
  add(data: string): void
  /**
   * Returns the answer as the endpoint would have sent it whole, an error with the status of a
   * gateway's. Raises an error for a stream that broke off.
   */
  whole(): { readonly status?: number; readonly body: string }
}

/** The peculiarities of an endpoint that a request respects. */
export interface RequestOptions {
  readonly host: string
  readonly isStreamed: boolean
  /** `chat/completions` takes tools only from models that do not reason. */
  readonly areToolsUnreasoned: boolean
  /** The endpoint seals nothing of what its models reason. */
  readonly isUnsealed: boolean
  /** Undefined: the one that the provider has for its customer. */
  readonly tier: string | undefined
}

/** The form in which an endpoint is asked, and answers. */
export interface WireForm {
  /** Below the base URL. */
  readonly path: string
  /** Returns the body of a request. */
  toBody(call: LlmCall, options: RequestOptions): Readonly<Record<string, unknown>>
  /**
   * Reads a whole answer; for anything else returns a description of it, and for an error that came
   * as an answer its body. A model with tools may answer with calls of them, or nothing, for which
   * it can be asked again.
   */
  read(body: string, hasTools: boolean): Completion | string | { readonly errorBody: string }
  /** Begins to put an answer together, and tells of its text while it comes. */
  openStream(hearText: HearText): StreamedAnswer
}
