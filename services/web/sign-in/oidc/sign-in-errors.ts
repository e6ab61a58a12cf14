import * as client from 'openid-client'
import { AppError } from '../../../shared/errors.ts'
import type { ErrorCode } from '../../../shared/errors.ts'

/** The reasons why a sign-in through the provider failed, for the audit log. */
type SignInFailure =
  | 'not_begun_here'
  | 'bad_callback'
  | 'used_before'
  | 'throttled'
  | 'account_disabled'
  | 'provider_refused'
  | 'code_refused'
  | 'bad_answer'
  | 'bad_subject'
  | 'client_refused'
  | 'issuer_mismatch'
  | 'provider_away'

const DESCRIPTION_CHARACTERS_MAX = 300
const CODE = /^[\w.-]{1,64}$/

/** Creates an error for the sign-in page. Its details hold nothing but the reason. */
export function signInError(
  [code, reason]: readonly [ErrorCode, SignInFailure],
  message: string,
  headers: Readonly<Record<string, string>> = {},
): AppError {
  return new AppError(code, message, { details: { reason }, headers })
}

/** Returns the reason of an error that `signInError` made. */
export function failureOf({ details, code }: AppError): string {
  const { reason } = details
  return typeof reason === 'string' ? reason : code
}

/** Creates the error of a discovery document that names another issuer. */
export function wrongIssuer(
  name: string,
  { found, issuer }: { found: string; issuer: string },
): AppError {
  return signInError(
    ['bad_gateway', 'issuer_mismatch'],
    `Signing in with ${name} is misconfigured: its issuer is ${found.slice(0, 200)}, but ` +
      `OIDC_ISSUER_URL is ${issuer}. Tell your administrator.`,
  )
}

/**
 * Converts an error of the provider to one for people. The errors of openid-client are not passed
 * on, because they hold whole answers.
 */
export function toSignInError(name: string, thrown: unknown): AppError {
  if (thrown instanceof AppError)
    return thrown.details['reason'] !== undefined ? thrown : unavailable(thrown.message)
  if (thrown instanceof client.AuthorizationResponseError) return notLetIn(name, thrown)
  if (thrown instanceof client.WWWAuthenticateChallengeError) return clientRefused(name)
  if (thrown instanceof client.ResponseBodyError) return refused(name, thrown)
  if (!(thrown instanceof client.ClientError)) return badAnswer(name, 'it cannot be read')
  if (thrown.cause instanceof AppError) return toSignInError(name, thrown.cause)
  return NO_ANSWER.test(thrown.code ?? '')
    ? unavailable(`${name} gave no usable answer: ${thrown.message}.`)
    : badAnswer(name, thrown.message)
}

/** An HTTP error, or a page for people: what a provider in trouble sends. */
const NO_ANSWER = /^OAUTH_RESPONSE_IS_NOT_(CONFORM|JSON)$/

function unavailable(message: string): AppError {
  const reason = ['unavailable', 'provider_away'] as const
  return signInError(reason, `${message} Try again in a moment.`, { 'retry-after': '5' })
}

function badAnswer(name: string, reason: string): AppError {
  return signInError(
    ['invalid_request', 'bad_answer'],
    `The answer of ${name} cannot be used: ${reason}. Start again.`,
  )
}

/** The provider's own words help: that somebody is not assigned to this application, for one. */
function notLetIn(
  name: string,
  { error, error_description }: client.AuthorizationResponseError,
): AppError {
  const code = CODE.test(error) ? error : 'an error without a code'
  const said = (error_description ?? '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, DESCRIPTION_CHARACTERS_MAX)
  return signInError(
    ['forbidden', 'provider_refused'],
    `${name} did not let you in: ${said === '' ? code : `${said} (${code})`}`,
  )
}

function refused(name: string, { error }: client.ResponseBodyError): AppError {
  if (error === 'invalid_grant') {
    const message =
      `${name} did not accept its own answer: it is too old, or was already used. ` + 'Start again.'
    return signInError(['invalid_request', 'code_refused'], message)
  }
  if (/^(invalid_client|unauthorized_client)$/.test(error)) return clientRefused(name)
  return unavailable(
    `${name} gave no usable answer: ${CODE.test(error) ? error : 'an error without a code'}.`,
  )
}

function clientRefused(name: string): AppError {
  return signInError(
    ['bad_gateway', 'client_refused'],
    `${name} refuses this platform: OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is wrong. Tell your ` +
      'administrator.',
  )
}
