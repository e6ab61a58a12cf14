import { RPC_CODES } from '../json-rpc.ts'
import type { Fields, RpcError } from '../json-rpc.ts'

/** The codes of JSON-RPC 2.0, and those that MCP adds. */
export const CODES = {
  ...RPC_CODES,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const

/** An error of JSON-RPC, with the HTTP status that it has. */
export interface Fault extends RpcError {
  readonly code: (typeof CODES)[keyof typeof CODES]
  readonly data?: Fields
  readonly status: 200 | 400 | 404
}

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

/** Says what a body should be that is no message. */
export const describeWrong = (body: unknown): string =>
  Array.isArray(body)
    ? 'Send one message at a time: there are no batches since 2025-06-18.'
    : 'The body is one request or notification of JSON-RPC 2.0: {"jsonrpc": "2.0", "id": 1, ' +
      '"method": "tools/list"}.'
