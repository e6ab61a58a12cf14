/** Every way a request or a boot can fail, with the HTTP status it maps to (SPEC 7). */
const STATUS = {
  invalid_configuration: 500,
  schema_mismatch: 500,
  internal: 500,
  invalid_request: 400,
  invalid_token: 401,
  forbidden: 403,
  csrf_failed: 403,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  queue_full: 429,
  bad_gateway: 502,
  unavailable: 503,
  timeout: 504,
} as const

/** The codes of an `AppError`, as callers see them. */
export type ErrorCode = keyof typeof STATUS
/** All codes, for the document that lists them. */
export const ERROR_CODES: readonly string[] = Object.keys(STATUS)

/** The parts of an `AppError` that most do without. */
export interface AppErrorOptions {
  /** Machine-readable facts for the caller; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Response headers the failure demands, such as `WWW-Authenticate` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/**
 * The one error that crosses module borders: a closed code, a message for people, details for
 * machines.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly status: (typeof STATUS)[ErrorCode]
  readonly details: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.status = STATUS[code]
    this.details = options.details ?? {}
    this.headers = options.headers ?? {}
  }
}

/** Whatever was thrown, as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Whatever was thrown, as an AppError; anything unforeseen is `internal` and keeps its cause. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  return new AppError('internal', 'Something went wrong on our side; the log has the details.', {
    cause: thrown,
  })
}
