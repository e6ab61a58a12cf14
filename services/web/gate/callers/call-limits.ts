import { createHash } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { Actor } from '../../../platform/audit/audit.ts'
import type { Limits } from '../../../platform/people/organization-limits.ts'
import { AppError } from '../../../shared/errors.ts'
import type { LimitKind } from './limit-metrics.ts'
import { createSharedCounts } from './shared-counts.ts'
import type { SharedCounts, SharedCountsDeps } from './shared-counts.ts'

const WINDOW_SECONDS = 60
/** A process tells the others at once when it has counted this part of a limit. */
const UNTOLD_SHARE = 10
const LOOKS_MAX = 2 * UNTOLD_SHARE

/** A token or client that calls. */
interface LimitedCaller extends Pick<Actor, 'kind' | 'id'> {
  readonly organizationId: number
  /** What it calls with, as messages name it. @default `this token` */
  readonly what?: string
}

/** Counts the calls of tokens and of organizations. */
export interface CallLimits {
  /**
   * Counts a call that was accepted, and returns the headers that tell its caller what is left.
   * Raises `rate_limited` with the same headers, and counts nothing then.
   */
  readonly take: (caller: LimitedCaller) => Promise<Readonly<Record<string, string>>>
}

/** The dependencies of `createCallLimits`. */
interface CallLimitsDeps extends SharedCountsDeps {
  /** The limits of organizations without their own. */
  readonly limits: Omit<Limits, 'queuedRuns'>
  readonly onLimited?: ((limit: LimitKind) => void) | undefined
}

interface Policy {
  readonly name: 'token' | 'organization'
  readonly subject: string
  readonly limit: number
  /** What the calls are counted of, as messages name it. */
  readonly whose: string
}

/**
 * Creates the limits of the calls of the APIs, a minute at a time. They hold for all replicas
 * together, but for the calls that others answer in the moment before a replica hears of them.
 */
export function createCallLimits(deps: CallLimitsDeps): CallLimits {
  const { limits, onLimited } = deps
  const counts = createSharedCounts(deps)

  function policiesOf(caller: LimitedCaller): readonly Policy[] {
    const { organizationId, what: whose = 'this token' } = caller
    const own = counts.ratesOf(organizationId)
    const { tokenCalls, organizationCalls } = limits
    return [
      { name: 'token', subject: subjectOf(caller), limit: own?.tokenCalls ?? tokenCalls, whose },
      {
        name: 'organization',
        subject: `organization:${organizationId}`,
        limit: own?.organizationCalls ?? organizationCalls,
        whose: 'all tokens of your organization',
      },
    ]
  }

  const isUnsure = ({ subject, limit }: Policy): boolean =>
    limit > 0 && counts.untold(subject) >= Math.max(1, limit / UNTOLD_SHARE)

  return {
    async take(caller) {
      counts.secondsLeft()
      // Of many calls at once, each look lets a few in, and the others look again.
      for (let looks = 0; looks < LOOKS_MAX && policiesOf(caller).some(isUnsure); looks += 1) {
        await counts.share()
      }
      const seconds = counts.secondsLeft()
      const policies = policiesOf(caller)
      const over = policies.find(
        (each) => each.limit > 0 && counts.used(each.subject) >= each.limit,
      )
      if (over) {
        onLimited?.(over.name)
        throw tooManyCalls(over, { seconds, headers: headersOf(policies, counts, seconds) })
      }
      for (const { subject } of policies) counts.add(subject, caller.organizationId)
      return headersOf(policies, counts, seconds)
    },
  }
}

/** A client is what its identity provider calls it, which may be long. */
function subjectOf({ kind, id, organizationId }: LimitedCaller): string {
  if (kind === 'token') return `token:${id}`
  const hash = createHash('sha256')
    .update(id ?? '')
    .digest('base64url')
  return `client:${organizationId}:${hash}`
}

/** The fields of draft-ietf-httpapi-ratelimit-headers-10. */
function headersOf(
  all: readonly Policy[],
  counts: SharedCounts,
  seconds: number,
): Readonly<Record<string, string>> {
  const policies = all.filter(({ limit }) => limit > 0)
  if (policies.length === 0) return {}
  const left = ({ subject, limit }: Policy): number => Math.max(0, limit - counts.used(subject))
  return {
    'ratelimit-policy': policies
      .map(({ name, limit }) => `"${name}";q=${limit};w=${WINDOW_SECONDS}`)
      .join(', '),
    ratelimit: policies.map((each) => `"${each.name}";r=${left(each)};t=${seconds}`).join(', '),
  }
}

function tooManyCalls(
  { name, limit, whose }: Policy,
  { seconds, headers }: { seconds: number; headers: Readonly<Record<string, string>> },
): AppError {
  return new AppError(
    'rate_limited',
    `There were ${limit} calls with ${whose} in this minute, which is the limit. Try again ` +
      `in ${seconds} s, or ask an administrator of the platform for a higher limit.`,
    {
      details: {
        policy: name,
        limit,
        window_seconds: WINDOW_SECONDS,
        retry_after_seconds: seconds,
      },
      headers: { ...headers, 'retry-after': String(seconds) },
    },
  )
}

/** Counts a call of a token or a client; what is left is in the headers of its answer. */
export async function limitCall(
  c: Context,
  calls: CallLimits,
  next: Parameters<MiddlewareHandler>[1],
): Promise<void> {
  const actor: Actor | undefined = c.get('actor')
  const isLimited = actor?.kind === 'token' || actor?.kind === 'client'
  const { organizationId } = actor ?? {}
  if (!actor || !isLimited || typeof organizationId !== 'number') return next()
  const headers = await calls.take({ kind: actor.kind, id: actor.id, organizationId })
  await next()
  for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value)
}
