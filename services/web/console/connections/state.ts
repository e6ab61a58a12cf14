import type {
  OauthConnection,
  StatusReason,
} from '../../../platform/connections/oauth-connections.ts'
import { relativeTime } from '../frame/format.ts'
import { pill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'

/** The state of a connection: in a word or two, and what to do about it. */
interface ConnectionState {
  readonly tone: Tone
  readonly word: string
  /** undefined: nothing needs to be done. */
  readonly advice?: string
}

const REASONS = {
  refresh_refused: 'The provider no longer accepts the authorization. Connect it again.',
  no_refresh_token:
    'The access token has ended, and the provider issued none to renew it. Connect it again.',
  revoked: 'Its tokens were revoked here. Connect it again to use it.',
} as const satisfies Record<StatusReason, string>

/** Returns the state of a connection. */
export function stateOf(connection: OauthConnection): ConnectionState {
  const { status, statusReason, failure, isExpired, isRenewable, kind } = connection
  if (status === 'pending') {
    const isToken = kind === 'static_token'
    const advice = isToken ? 'It has no token. Enter one.' : 'It is not connected yet.'
    return { tone: 'waiting', word: isToken ? 'no token' : 'not connected', advice }
  }
  if (status === 'needs_authorization') {
    const isRevoked = statusReason === 'revoked'
    const word = isRevoked ? 'revoked' : 'needs consent'
    return { tone: isRevoked ? 'idle' : 'bad', word, advice: REASONS[statusReason ?? 'revoked'] }
  }
  if (failure !== null) return { tone: 'bad', word: 'failing', advice: failure }
  if (isExpired && !isRenewable) {
    return { tone: 'bad', word: 'expired', advice: REASONS.no_refresh_token }
  }
  return { tone: 'good', word: 'connected' }
}

/** The state of a connection, in its colour. */
export function statePill(connection: OauthConnection): Html {
  const { tone, word } = stateOf(connection)
  return pill(tone, word)
}

/** Returns how long the access token lasts, and whether it is renewed. */
export function lifeOf({ status, expiresAt, isRenewable }: OauthConnection): string {
  if (status !== 'connected') return '–'
  if (isRenewable) return 'Renewed as needed'
  return expiresAt ? `Ends ${relativeTime(expiresAt)}` : 'Has no end'
}
