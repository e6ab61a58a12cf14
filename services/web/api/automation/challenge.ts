import { AppError } from '../../../shared/errors.ts'
import { CLIENT_CLAIMS } from '../../gate/access-token/read-claims.ts'
import type { DisclosedReason } from '../../gate/access-token/rule.ts'

/** The path of the metadata of this protected resource (RFC 9728 §3). */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The claims that may name the client, as a list in words. */
const CLAIM_LIST = `${CLIENT_CLAIMS.slice(0, -1).join(', ')} and ${CLIENT_CLAIMS.at(-1)}`

/** Reasons that the bearer of a token that is ours, or well signed, may learn. */
type Disclosed = DisclosedReason | 'address_not_allowed' | 'client_not_bound'

/** Their texts; constant, so that no claim is ever echoed. */
const DISCLOSED: Readonly<Record<Disclosed, string>> = {
  wrong_issuer: 'The issuer is not the one that is configured.',
  wrong_audience: 'The audience is not one of those that are configured.',
  malformed_date: 'The claims iat and exp must be there, as numbers.',
  token_expired: 'The token has expired.',
  token_not_yet_valid: 'The token is not valid yet.',
  lifetime_too_long: 'The lifetime of the token is longer than is accepted.',
  id_token: 'This is not an access token.',
  sender_constrained: 'Tokens that are bound to a key are not accepted.',
  missing_client_claim: `The token has none of the claims ${CLAIM_LIST}.`,
  invalid_client_claim: `A claim of ${CLAIM_LIST} is not a client identifier.`,
  client_claim_conflict: `The claims ${CLAIM_LIST} differ.`,
  automation_not_bound: 'The automation has no OAuth Client ID.',
  client_not_bound: 'No automation is bound to this OAuth client.',
  client_mismatch: 'The automation is bound to another OAuth client.',
  insufficient_scope: 'The token lacks the scope that this call asks for.',
  address_not_allowed: 'The token may not be used from this address.',
}

/** Returns true if the token is genuine, so that the bearer may learn the reason. */
export const isDisclosed = (reason: string): reason is Disclosed => Object.hasOwn(DISCLOSED, reason)

/** The refusals of calls. */
interface Challenges {
  /** Refuses a call without usable credentials: RFC 6750 §3.1 wants no error code then. */
  readonly noCredentials: () => AppError
  /** Refuses a token. The reasons up to the signature all have the same text. */
  readonly refused: (reason: string, scope?: string) => AppError
}

const IDP_RETRY_SECONDS = '10'

/** Creates the answers to calls without a good token (RFC 6750 §3, RFC 9728 §5.1). */
export function createChallenges(baseUrl: string): Challenges {
  const metadata = `resource_metadata="${baseUrl}${RESOURCE_METADATA_PATH}"`
  const challenge = (...parameters: readonly string[]): Record<string, string> => ({
    'www-authenticate': ['Bearer realm="platform"', ...parameters, metadata].join(', '),
  })
  return {
    noCredentials: () =>
      new AppError(
        'invalid_token',
        'Send exactly one header of the form `Authorization: Bearer <token>`.',
        { headers: challenge() },
      ),
    refused(reason, scope = '') {
      if (reason === 'idp_unavailable') return idpUnavailable()
      const text = textOf(reason, scope)
      const details = isDisclosed(reason) ? { reason } : {}
      const description = `error_description="${text}"`
      if (reason === 'insufficient_scope') {
        const headers = challenge('error="insufficient_scope"', description, `scope="${scope}"`)
        return new AppError('insufficient_scope', text, { details, headers })
      }
      const headers = isDisclosed(reason)
        ? challenge('error="invalid_token"', description)
        : challenge('error="invalid_token"')
      return new AppError('invalid_token', text, { details, headers })
    },
  }
}

function textOf(reason: string, scope: string): string {
  if (!isDisclosed(reason)) return 'The token is not valid for this automation.'
  return reason === 'insufficient_scope' && scope !== ''
    ? `The token lacks the scope ${scope}. Use one that has it.`
    : DISCLOSED[reason]
}

/** Not the caller's fault and not permanent: a 401 would make clients drop a token that is fine. */
function idpUnavailable(): AppError {
  return new AppError(
    'unavailable',
    'The identity provider that issued the token cannot be reached, so it cannot be checked. ' +
      'Try again.',
    { details: { reason: 'idp_unavailable' }, headers: { 'retry-after': IDP_RETRY_SECONDS } },
  )
}
