import { noteFailure } from '../platform/connections/oauth-connections.ts'
import { findTokenHolder } from '../platform/connections/oauth-tokens.ts'
import type { TokenHolder } from '../platform/connections/oauth-tokens.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError, toError } from '../shared/errors.ts'
import { readAddress } from '../shared/outgoing/address.ts'
import { routeThrough } from '../shared/outgoing/forward-proxy.ts'
import { sendRequest } from '../shared/outgoing/send-request.ts'
import { tokenHeader } from '../shared/outgoing/token-header.ts'
import type { AccessToken, GetAccessToken } from './access-token.ts'
import type { OauthDeps } from './context.ts'

interface TestResult {
  readonly ok: boolean
  readonly message: string
}

/**
 * Tests a connection: gets its token, and asks the test address, or else the provider, whether it
 * is good. Notes how that ended. Raises `not_found`.
 */
export async function testConnection(
  deps: OauthDeps,
  connectionId: string,
  getAccessToken: GetAccessToken,
): Promise<TestResult> {
  const { sql } = deps
  const holder = await findTokenHolder(sql, connectionId)
  if (!holder) throw new AppError('not_found', `There is no connection ${connectionId}.`)
  const result = await tryToken(deps, holder, getAccessToken)
  await noteFailure(sql, connectionId, result.ok ? null : result.message)
  return result
}

async function tryToken(
  deps: OauthDeps,
  holder: TokenHolder,
  getAccessToken: GetAccessToken,
): Promise<TestResult> {
  try {
    const token = await getAccessToken(holder.id)
    const given = holder.settings?.test_url
    const discovered = given === undefined ? await userInfoUrl(deps, holder) : undefined
    const url = given === undefined ? discovered : readAddress(given, 'The test address')
    if (url === undefined) {
      const message = 'There is a token. No address is known that would tell whether it works.'
      return { ok: true, message }
    }
    return await ask(deps, holder, { url, token })
  } catch (thrown) {
    const error = toError(thrown)
    const isSystems = 'code' in error && !(error instanceof AppError)
    const message = isSystems ? `It cannot be reached (${String(error.code)}).` : error.message
    if (isSystems || error instanceof AppError) return { ok: false, message }
    throw thrown
  }
}

async function userInfoUrl(
  { providers }: OauthDeps,
  holder: TokenHolder,
): Promise<URL | undefined> {
  // A client that acts for itself is nobody whom the provider could tell of.
  if (holder.kind !== 'authorization_code') return undefined
  const found = await (await providers.of(holder)).userInfoUrl()
  return found === undefined ? undefined : new URL(found)
}

async function ask(
  { guard, proxy, timeoutMs }: OauthDeps,
  { organizationId, settings }: TokenHolder,
  { url, token }: { readonly url: URL; readonly token: AccessToken },
): Promise<TestResult> {
  const { host } = url
  const { status } = await deadline({ name: host, timeoutMs }, async (signal) => {
    const subject = `organization ${organizationId}`
    const { accessToken: access_token, header, prefix } = token
    return sendRequest({
      url,
      headers: {
        ...tokenHeader({ access_token, header, prefix }),
        accept: 'application/json',
        'user-agent': 'crew-platform',
      },
      responseBytesMax: 0,
      signal,
      // The addresses of the operator's providers are the operator's.
      route:
        settings === null ? routeThrough(proxy, url) : await guard.pin(url, { subject, signal }),
    })
  })
  const said = `${host} answers with HTTP ${status}`
  if (status >= 200 && status <= 299) return { ok: true, message: `${said}: the token works.` }
  const refused = status === 401 || status === 403
  const advice = refused
    ? 'the token does not work there. Connect again, or check its scopes.'
    : 'that says nothing about the token. Check the test address.'
  return { ok: false, message: `${said}: ${advice}` }
}
