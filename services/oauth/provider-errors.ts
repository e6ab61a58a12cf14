import * as client from 'openid-client'
import { AppError } from '../shared/errors.ts'
import type { ProviderSettings } from './provider-settings.ts'

/**
 * A refresh token that the provider no longer accepts: the standard's code, GitHub's and Slack's.
 */
const GRANT_REFUSALS: ReadonlySet<string> = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'invalid_refresh_token',
  'token_revoked',
  'token_expired',
])
/** A client that the provider does not accept, in the same three vocabularies. */
const CLIENT_REFUSALS: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
  'invalid_client_id',
  'bad_client_secret',
])

/** The provider's error code, if it is one and not some text that may hold anything. */
function providerCode(error: string): string {
  return /^[\w.-]{1,64}$/.test(error) ? error : 'an error without a code'
}

/** Recognizes a provider's statement that the code or token is not, or no longer, valid. */
export function isGrantRefused(thrown: unknown): boolean {
  return thrown instanceof client.ResponseBodyError && GRANT_REFUSALS.has(thrown.error)
}

type NamedSettings = Pick<ProviderSettings, 'name' | 'place'>

/**
 * Explains a failure of a provider, for callers and the log. The errors of openid-client are not
 * passed on: they carry the provider's whole answer.
 */
export function toProviderError(settings: NamedSettings, thrown: unknown): AppError {
  const { name: provider } = settings
  if (thrown instanceof AppError) return thrown
  if (thrown instanceof client.ClientError && thrown.cause instanceof AppError) return thrown.cause
  if (thrown instanceof client.AuthorizationResponseError) return notGranted(provider, thrown.error)
  if (thrown instanceof client.ResponseBodyError) return refused(settings, thrown.error)
  if (thrown instanceof client.WWWAuthenticateChallengeError)
    return refused(settings, 'invalid_client')
  const reason = thrown instanceof client.ClientError ? thrown.message : 'it cannot be read'
  return new AppError(
    'bad_gateway',
    `Provider ${provider} gave an answer that cannot be used: ${reason}.`,
    { details: { code: 'provider_bad_answer' } },
  )
}

function notGranted(provider: string, error: string): AppError {
  const code = providerCode(error)
  const details = { code: 'authorization_refused', provider_error: code }
  if (code === 'access_denied')
    return new AppError('forbidden', `The authorization was not given at ${provider}.`, { details })
  const message = `Provider ${provider} did not authorize the connection: ${code}.`
  return new AppError('bad_gateway', message, { details })
}

function refused({ name: provider, place }: NamedSettings, error: string): AppError {
  const code = providerCode(error)
  const details = { provider_error: code }
  if (CLIENT_REFUSALS.has(error)) {
    return new AppError(
      'bad_gateway',
      `Provider ${provider} refuses our client: check its client_id, secret and ` +
        `token_endpoint_auth_method in ${place}.`,
      { details: { code: 'provider_client_refused', ...details } },
    )
  }
  return new AppError('bad_gateway', `Provider ${provider} refused the call: ${code}.`, {
    details: { code: 'provider_refused', ...details },
  })
}
