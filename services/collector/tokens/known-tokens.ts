import type { CollectorToken } from '../../shared/collector-token.ts'
import type { Log } from '../../shared/log.ts'
import type { Grant } from './grant.ts'

/** A token whose signature was checked. */
export interface KnownToken {
  readonly token: CollectorToken
  readonly grant: Grant
  /** Made to be used for days, such as one in an environment variable; nobody renews it unasked. */
  readonly isLongLived: boolean
}

/** Tokens that were good, so that their signatures are checked once. */
interface KnownTokens {
  /** The token, if it was good and has not expired; counts as its use. */
  find(text: string, nowMs: number): KnownToken | undefined
  add(text: string, known: KnownToken, nowMs: number): void
  /** The long-lived ones, used in the last hour, that expire within so many seconds. */
  countExpiring(within: { nowMs: number; seconds: number }): number
}

interface Use {
  readonly known: KnownToken
  usedAtMs: number
  warnedAtMs: number
}

const REMEMBERED_MAX = 1024
const MAX_ISSUER_CHARS = 100
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WARNING_SECONDS = (7 * DAY_MS) / 1000

/** Remembers the tokens used last. */
export function createKnownTokens(log: Log): KnownTokens {
  /** The one used longest ago first. */
  const uses = new Map<string, Use>()
  const note = (text: string, use: Use, nowMs: number): void => {
    use.usedAtMs = nowMs
    uses.set(text, use)
    if (use.known.isLongLived) warnBeforeExpiry(use, log)
  }
  return {
    find(text, nowMs) {
      const use = uses.get(text)
      uses.delete(text)
      if (!use || nowMs >= use.known.token.expiresAt * 1000) return undefined
      note(text, use, nowMs)
      return use.known
    },
    add(text, known, nowMs) {
      note(text, { known, usedAtMs: nowMs, warnedAtMs: -Infinity }, nowMs)
      if (uses.size > REMEMBERED_MAX) forgetOldest(uses)
    },
    countExpiring: (within) => countExpiring(uses.values(), within),
  }
}

/** Once a day, in the last week. Never shows the token itself. */
function warnBeforeExpiry(use: Use, log: Log): void {
  const { known, usedAtMs } = use
  const { token } = known
  if (token.expiresAt - usedAtMs / 1000 > WARNING_SECONDS) return
  if (usedAtMs - use.warnedAtMs < DAY_MS) return
  use.warnedAtMs = usedAtMs
  const facts = {
    issuer: token.issuer?.slice(0, MAX_ISSUER_CHARS),
    organization: token.organization,
    token_id: token.id,
    expires_at: new Date(token.expiresAt * 1000).toISOString(),
  }
  log.warn(facts, 'a token in use expires within a week; give its sender a new one')
}

function countExpiring(
  uses: Iterable<Use>,
  { nowMs, seconds }: { nowMs: number; seconds: number },
): number {
  let count = 0
  for (const { known, usedAtMs } of uses) {
    const isInUse = nowMs - usedAtMs < HOUR_MS && !known.grant.isRevoked()
    const left = known.token.expiresAt - nowMs / 1000
    if (known.isLongLived && isInUse && left > 0 && left < seconds) count++
  }
  return count
}

function forgetOldest(uses: Map<string, Use>): void {
  const [oldest] = uses.keys()
  if (oldest !== undefined) uses.delete(oldest)
}
