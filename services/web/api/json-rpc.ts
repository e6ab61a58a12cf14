import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import { BODY_BYTES_MAX } from './automation/kickoff-request.ts'

/** The codes of JSON-RPC 2.0. */
export const RPC_CODES = {
  unreadable: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const

/** What a message holds, by name. */
export type Fields = Readonly<Record<string, unknown>>

/** An error of JSON-RPC. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

const ID_CHARACTERS_MAX = 255
const METHOD_CHARACTERS_MAX = 128

const identified = v.object({
  id: v.optional(
    v.union([
      v.pipe(v.number(), v.safeInteger()),
      v.pipe(v.string(), v.maxLength(ID_CHARACTERS_MAX)),
    ]),
  ),
})
const message = v.object({
  jsonrpc: v.literal('2.0'),
  ...identified.entries,
  method: v.pipe(v.string(), v.maxLength(METHOD_CHARACTERS_MAX)),
  params: v.optional(v.record(v.string(), v.unknown()), {}),
})
/** A request, or without an id a notification. */
export type Message = v.InferOutput<typeof message>
/** A request. */
export type RpcRequest = Message & { readonly id: number | string }

/** What is no message, with the id that it has all the same. */
interface NoMessage extends v.InferOutput<typeof identified> {
  readonly error: { readonly code: -32_700 | -32_600; readonly message: string }
}

/**
 * Reads the one message of a call; `wrong` says what a body is instead. Raises `payload_too_large`
 * and `unsupported_media_type`; what is no message is an error of JSON-RPC.
 */
export async function readMessage(
  request: Request,
  wrong: (body: unknown) => string,
): Promise<Message | NoMessage> {
  try {
    const body = await readJson(request, BODY_BYTES_MAX)
    const read = v.safeParse(message, body)
    if (read.success) return read.output
    const known = v.safeParse(identified, body)
    const id = known.success ? known.output.id : undefined
    return { id, error: { code: RPC_CODES.invalidRequest, message: wrong(body) } }
  } catch (thrown) {
    if (!(thrown instanceof AppError && thrown.code === 'invalid_request')) throw thrown
    return { error: { code: RPC_CODES.unreadable, message: thrown.message } }
  }
}

/** The result of a request. */
export const toResponse = (id: number | string, result: Fields) => ({
  jsonrpc: '2.0' as const,
  id,
  result,
})

/** The error of a request; without an id of a message that could not be read. */
export const toErrorResponse = (
  id: number | string | undefined,
  { code, message: text, data }: RpcError,
) => ({
  jsonrpc: '2.0' as const,
  id: id ?? null,
  error: { code, message: text, ...(data !== undefined && { data }) },
})
