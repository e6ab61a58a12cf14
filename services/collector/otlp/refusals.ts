import { AppError, toAppError, toError } from '../../shared/errors.ts'
import type { CollectorScope } from '../../shared/collector-token.ts'
import type { Log } from '../../shared/log.ts'
import type { AuthFailure } from '../tokens/authorization.ts'
import type { CollectorMetrics } from '../observability/metrics.ts'

/** The ways in which a submission is refused; `details.reason` is what the metrics count by. */
export const unavailable = (reason: string, message: string): AppError =>
  new AppError('unavailable', message, { details: { reason } })

/** The error while the database is not ready. */
export const starting = (): AppError => unavailable('starting', 'The collector is starting.')

/** The error for spans that two clocks disagree about. */
export const clockSkew = (): AppError =>
  unavailable(
    'clock_skew',
    'The clocks of the collector and its database differ, so spans cannot be judged by their ' +
      'age; an operator has to set them right.',
  )

/** The error for a request that does not fit the memory. */
export const overBudget = (): AppError =>
  unavailable('over_budget', 'The collector holds all it has memory for; try again.')

/** The error while the limit of the storage is reached. */
export const storageFull = (): AppError =>
  unavailable('storage_full', 'The database holds all it may; an operator has to make space.')

/** The error for a body of more than `maxBytes`. */
export const tooLarge = (maxBytes: number): AppError =>
  new AppError('payload_too_large', `The body may have ${maxBytes} bytes at the most.`)

/** The error for a sender that stopped sending. */
export const clientGone = (): AppError =>
  new AppError('invalid_request', 'The connection ended before the body.', {
    details: { reason: 'client_gone' },
  })

/**
 * Worth another try, on another connection: the way to the sender may have been gone for a while.
 */
export const bodyStalled = (idleMs: number): AppError =>
  new AppError('unavailable', `Nothing of the body has arrived for ${idleMs} ms; send it again.`, {
    details: { reason: 'body_stalled' },
    headers: { connection: 'close' },
  })

/** The error for a body of an unknown type or coding. */
export const mediaType = (message: string): AppError =>
  new AppError('unsupported_media_type', `${message}.`, { details: { reason: 'media_type' } })

/** The error for a request without a grant of this scope. */
export function refusedToken(failure: AuthFailure, scope: CollectorScope): AppError {
  if (failure === 'no_scope') return outOfScope(scope, 'has no scope')
  return failure === 'wrong_scope' ? outOfScope(scope, 'has another scope') : unauthorized()
}

const outOfScope = (scope: CollectorScope, why: string): AppError =>
  new AppError('insufficient_scope', `This needs a token with the scope ${scope}; yours ${why}.`, {
    details: { reason: 'insufficient_scope' },
    headers: {
      'www-authenticate': `Bearer realm="collector", error="insufficient_scope", scope="${scope}"`,
    },
  })

/** The error for a missing or invalid token. */
const unauthorized = (): AppError =>
  new AppError('invalid_token', 'A valid bearer token is required.', {
    details: { reason: 'unauthorized' },
    headers: { 'www-authenticate': 'Bearer realm="collector"' },
  })

/** The reason why a submission failed, for the metrics. */
function refusalReason(thrown: unknown): string {
  const { code, details } = toAppError(thrown)
  if (typeof details['reason'] === 'string') return details['reason']
  if (code === 'payload_too_large') return 'too_large'
  return code === 'invalid_request' ? 'bad_body' : 'internal'
}

/**
 * The message for senders that are set up for all signals at once: they learn from their own log
 * what to set.
 */
export const onlyTraces = (signal: string): string =>
  `Only traces are taken here, no ${signal}: set ` +
  `OTEL_${signal.toUpperCase()}_EXPORTER=none at the ` +
  'sender.'

interface Refusal {
  readonly status: AppError['status']
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

/** Counts and logs a failed submission, and returns what to tell its sender. */
export function noteRefusal(
  { metrics, log }: { readonly metrics: CollectorMetrics; readonly log: Log },
  thrown: unknown,
): Refusal {
  const error = toAppError(thrown)
  const reason = refusalReason(error)
  // A bare 500 makes senders drop their spans; what is not their fault is worth another try.
  const status = error.status >= 500 ? 503 : error.status
  metrics.refused.inc({ reason })
  if (reason === 'internal') log.error({ status, reason, ...traceOf(error) }, 'submission failed')
  else log.debug({ status, reason }, 'submission refused')
  return { status, message: error.message, headers: error.headers }
}

/** Only the message and stack of what was not foreseen: an error object may carry what was sent. */
function traceOf(error: AppError): { message: string; stack: string | undefined } {
  const { message, stack } = toError(error.cause ?? error)
  return { message, stack }
}
