import * as client from 'openid-client'
import type { Exchange } from '../platform/connections/oauth-connections.ts'
import { AppError } from '../shared/errors.ts'
import { isGrantRefused } from './provider-errors.ts'
import type { ProviderSettings } from './provider-settings.ts'

const URN = 'urn:ietf:params:oauth:'

/** A signed JWT, and what it is to its provider. */
interface ExchangedJwt {
  readonly jwt: string
  readonly how: Exchange
}

/** Exchanges a signed JWT for a token. Raises `forbidden` when the provider does not take it. */
export async function exchangeJwt(
  config: client.Configuration,
  { name, parameters, scopes }: ProviderSettings,
  given: ExchangedJwt,
): Promise<client.TokenEndpointResponse> {
  const { grant, ...own } = grantOf(given)
  const scope: Record<string, string> = scopes.length > 0 ? { scope: scopes.join(' ') } : {}
  try {
    return await client.genericGrantRequest(config, grant, { ...parameters, ...own, ...scope })
  } catch (thrown) {
    if (!isGrantRefused(thrown)) throw thrown
    throw new AppError(
      'forbidden',
      `Provider ${name} does not take the identity of the run. Compare the audience and what it ` +
        'checks of the claims with the settings of the connection.',
      { details: { code: 'identity_refused' } },
    )
  }
}

/** Returns the grant in which a JWT is sent, with its parameters. */
function grantOf({ jwt, how }: ExchangedJwt): { grant: string } & Record<string, string> {
  if (how === 'jwt_bearer') return { grant: `${URN}grant-type:jwt-bearer`, assertion: jwt }
  if (how === 'client_assertion') {
    const type = `${URN}client-assertion-type:jwt-bearer`
    return { grant: 'client_credentials', client_assertion: jwt, client_assertion_type: type }
  }
  return {
    grant: `${URN}grant-type:token-exchange`,
    subject_token: jwt,
    subject_token_type: `${URN}token-type:jwt`,
  }
}
