import { Hono } from 'hono'
import type { OauthApp } from '../context.ts'
import { ALGORITHM } from '../identity.ts'
import type { Identity } from '../identity.ts'

const KEYS_PATH = '/identity/keys'
/** For no longer than a key that leaked may be good. */
const CACHED = { 'cache-control': 'public, max-age=60' }

/** What receivers read to check the identities of runs (OpenID Connect Discovery 1.0 §4). */
export function identityRoutes(identity: Identity): Hono<OauthApp> {
  const { issuer } = identity
  const { pathname } = new URL(issuer)
  const routes = new Hono<OauthApp>()
  // A proxy in front may remove the path of the public URL, or leave it.
  for (const path of new Set(['', pathname.replace(/\/$/, '')])) {
    routes.get(`${path}/.well-known/openid-configuration`, (c) =>
      c.json(
        {
          issuer,
          jwks_uri: issuer + KEYS_PATH,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: [ALGORITHM],
          scopes_supported: ['openid'],
          claims_supported: CLAIMS,
        },
        200,
        CACHED,
      ),
    )
    routes.get(path + KEYS_PATH, async (c) =>
      c.json({ keys: await identity.keys.published() }, 200, CACHED),
    )
  }
  return routes
}

const CLAIMS = [
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'organization_id',
  'automation_id',
  'automation',
  'version',
  'kickoff_id',
]
