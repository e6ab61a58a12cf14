import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { BODY_BYTES_MAX } from '../automation/kickoff.ts'

/** The codes of JSON-RPC 2.0, and those that MCP adds. */
export const CODES = {
  unreadable: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const

/** An error of JSON-RPC, with the HTTP status that it has. */
export interface Fault {
  readonly code: (typeof CODES)[keyof typeof CODES]
  readonly message: string
  readonly data?: Fields
  readonly status: 200 | 400 | 404
}

/** What a message holds, by name. */
export type Fields = Readonly<Record<string, unknown>>

/** How far a run has come, and in the end the result of its call. */
export type Progress = AsyncGenerator<Fields, Fields>

/** What a request comes to: a result at once or later, or an error. */
export type Outcome =
  | { readonly result: Fields }
  | { readonly progress: Progress }
  | { readonly fault: Fault }

/** Builds the error for parameters that a method does not take. */
export const invalidParams = (text: string): { readonly fault: Fault } => ({
  fault: { code: CODES.invalidParams, message: text, status: 200 },
})

const ID_CHARACTERS_MAX = 255
const METHOD_CHARACTERS_MAX = 128

const message = v.object({
  jsonrpc: v.literal('2.0'),
  id: v.optional(
    v.union([
      v.pipe(v.number(), v.safeInteger()),
      v.pipe(v.string(), v.maxLength(ID_CHARACTERS_MAX)),
    ]),
  ),
  method: v.pipe(v.string(), v.maxLength(METHOD_CHARACTERS_MAX)),
  params: v.optional(v.record(v.string(), v.unknown()), {}),
})
/** A request, or without an id a notification. */
export type Message = v.InferOutput<typeof message>
/** A request. */
export type RpcRequest = Message & { readonly id: number | string }

/**
 * Reads the one message of a call. Raises `payload_too_large` and `unsupported_media_type`; what is
 * no message is a fault.
 */
export async function readMessage(request: Request): Promise<Message | { readonly fault: Fault }> {
  try {
    const body = await readJson(request, BODY_BYTES_MAX)
    const read = v.safeParse(message, body)
    if (read.success) return read.output
    return { fault: { code: CODES.invalidRequest, message: wrong(body), status: 400 } }
  } catch (thrown) {
    if (!(thrown instanceof AppError && thrown.code === 'invalid_request')) throw thrown
    return { fault: { code: CODES.unreadable, message: thrown.message, status: 400 } }
  }
}

const wrong = (body: unknown): string =>
  Array.isArray(body)
    ? 'Send one message at a time: there are no batches since 2025-06-18.'
    : 'The body is one request or notification of JSON-RPC 2.0: {"jsonrpc": "2.0", "id": 1, ' +
      '"method": "tools/list"}.'

/** The result of a request. */
export const toResponse = (id: number | string, result: Fields) => ({
  jsonrpc: '2.0' as const,
  id,
  result,
})

/** The error of a request; without an id of a message that could not be read. */
export const toErrorResponse = (
  id: number | string | undefined,
  { code, message: text, data }: Fault,
) => ({
  jsonrpc: '2.0' as const,
  id: id ?? null,
  error: { code, message: text, ...(data && { data }) },
})
