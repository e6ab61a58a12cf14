import { html } from 'hono/html'
import { TOKEN_SCOPES } from '../../../platform/automations/token-limits.ts'
import type { TokenLimits } from '../../../platform/automations/token-limits.ts'
import { absoluteTime } from './format.ts'
import { pill, time } from './parts.ts'
import type { Html } from './parts.ts'

/** The days before the end of a token in which pages warn of it. */
export const ENDING_DAYS = 14
const DAY_MS = 86_400_000

/** The limits of a token, for the audit. */
export const limitFacts = ({ scopes, expiresAt, networks }: TokenLimits) => ({
  scopes,
  expires_at: expiresAt?.toISOString() ?? null,
  networks,
})

/** What a token may do and from where, in words. */
export function scopeText({ scopes, networks }: TokenLimits): string {
  const what = scopes.length === TOKEN_SCOPES.length ? 'Everything' : scopes.join(', ')
  return networks.length === 0 ? what : `${what}, from ${networks.join(', ')}`
}

/** When a token ends; with a mark when that is soon, or has been. */
export function endOfToken({ expiresAt }: TokenLimits, now: number): Html | string {
  if (expiresAt === null) return 'Never'
  const leftMs = expiresAt.getTime() - now
  if (leftMs <= 0) return html`${pill('bad', 'Ended')} ${time(expiresAt)}`
  const end = absoluteTime(expiresAt).slice(0, 10)
  return leftMs < ENDING_DAYS * DAY_MS ? html`${pill('busy', 'Ends soon')} ${end}` : end
}
