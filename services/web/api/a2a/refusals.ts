import { AppError } from '../../../shared/errors.ts'
import type { ErrorCode } from '../../../shared/errors.ts'
import { RPC_CODES } from '../json-rpc.ts'

/** The errors of A2A 1.0 (§5.4) that are raised here: their codes, and those of the house. */
const KINDS = {
  TASK_NOT_FOUND: { code: -32_001, status: 404, name: 'NOT_FOUND', as: 'not_found' },
  TASK_NOT_CANCELABLE: { code: -32_002, status: 400, name: 'FAILED_PRECONDITION', as: 'conflict' },
  UNSUPPORTED_OPERATION: {
    code: -32_004,
    status: 400,
    name: 'FAILED_PRECONDITION',
    as: 'conflict',
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    code: -32_005,
    status: 400,
    name: 'INVALID_ARGUMENT',
    as: 'unprocessable',
  },
  VERSION_NOT_SUPPORTED: {
    code: -32_009,
    status: 400,
    name: 'FAILED_PRECONDITION',
    as: 'invalid_request',
  },
} as const satisfies Record<string, Kind>

interface Kind {
  readonly code: number
  readonly status: 400 | 404
  readonly name: string
  readonly as: ErrorCode
}

type KindName = keyof typeof KINDS

/** Builds an error of A2A. */
export const refusal = (reason: KindName, message: string): AppError =>
  new AppError(KINDS[reason].as, message, { details: { reason } })

/** Builds the error for parameters that an operation does not take. */
export const wrongParams = (message: string): AppError => new AppError('unprocessable', message)

/** An error as both bindings say it. */
export interface Told {
  readonly code: number
  readonly message: string
  readonly status: 400 | 404 | 413 | 415 | 429 | 503
  /** The code of google.rpc that goes with the status. */
  readonly name: string
  readonly details: readonly object[]
}

const TYPES = 'type.googleapis.com/google.rpc'
const DOMAIN = 'a2a-protocol.org'

/** Returns what callers are told of an error; raises those that are faults of the platform. */
export function tell(thrown: unknown): Told {
  if (!(thrown instanceof AppError)) throw thrown
  const { message, code, status, details } = thrown
  const reason = isKind(details['reason']) ? details['reason'] : undefined
  if (reason) return told(KINDS[reason], { message, reason })
  if (code === 'conflict') return told(KINDS.UNSUPPORTED_OPERATION, { message })
  if (status === 429) return own(thrown, { status, name: 'RESOURCE_EXHAUSTED' })
  if (status === 503) return own(thrown, { status, name: 'UNAVAILABLE' })
  if (status === 413 || status === 415) return own(thrown, { status, name: 'INVALID_ARGUMENT' })
  if (status >= 500) throw thrown
  const description = message
  const violation = { '@type': `${TYPES}.BadRequest`, fieldViolations: [{ description }] }
  const name = 'INVALID_ARGUMENT'
  return { code: RPC_CODES.invalidParams, message, status: 400, name, details: [violation] }
}

const isKind = (reason: unknown): reason is KindName =>
  typeof reason === 'string' && Object.hasOwn(KINDS, reason)

const told = (
  { code, status, name }: Kind,
  { message, reason = 'UNSUPPORTED_OPERATION' }: { message: string; reason?: KindName },
): Told => ({ code, message, status, name, details: [errorInfo(reason, DOMAIN)] })

function own({ message, code }: AppError, { status, name }: Pick<Told, 'status' | 'name'>): Told {
  const isCallers = status === 413 || status === 415
  const rpc = isCallers ? RPC_CODES.invalidRequest : RPC_CODES.internal
  const info = errorInfo(code.toUpperCase(), 'crew-platform')
  return { code: rpc, message, status, name, details: [info] }
}

const errorInfo = (reason: string, domain: string) => ({
  '@type': `${TYPES}.ErrorInfo`,
  reason,
  domain,
})
