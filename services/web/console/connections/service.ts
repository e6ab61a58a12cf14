import * as v from 'valibot'
import type { Actor } from '../../../platform/audit/audit.ts'
import { CONNECTION_KINDS } from '../../../platform/connections/oauth-connections.ts'
import type {
  ConnectionSettings,
  OauthConnection,
} from '../../../platform/connections/oauth-connections.ts'
import { isObject } from '../../../shared/is-object.ts'
import { callOauthService, oauthServiceOf, readAnswer } from '../../../shared/oauth-service.ts'
import type { OauthServiceAccess } from '../../../shared/oauth-service.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { WebDeps } from '../../context.ts'
import { bindingOf } from './session-binding.ts'

/** Which connection of which organization. */
type ConnectionKey = Pick<OauthConnection, 'id' | 'organizationId'>

const providers = v.object({
  providers: v.array(v.object({ name: v.string(), scopes: v.array(v.string()) })),
  callback_url: v.string(),
})
/** The operator's providers, and the address that providers send browsers back to. */
export type OfferedProviders = v.InferOutput<typeof providers>

const checked = v.object({
  provider: v.string(),
  kind: v.picklist(CONNECTION_KINDS),
  hosts: v.array(v.string()),
  region: v.nullable(v.string()),
  settings: v.nullable(v.custom<ConnectionSettings>(isObject)),
})
type CheckedConnection = v.InferOutput<typeof checked>

const created = v.object({ connection_id: v.string() })
const changed = v.object({ keeps_tokens: v.boolean() })
const link = v.object({ authorization_url: v.nullable(v.string()) })
const test = v.object({ ok: v.boolean(), message: v.string() })
/** The findings of a test. */
export type TestResult = v.InferOutput<typeof test>
const revocation = v.object({
  revocation: v.picklist(['revoked', 'unsupported', 'failed', 'not_authorized']),
})
/** What became of the tokens at the provider. */
export type Revocation = v.InferOutput<typeof revocation>['revocation']

/** The verbs of the OAuth service that the pages use; each raises what the service raises. */
export type ConnectionService = ReturnType<typeof createConnectionService>

/** Creates the verbs of the OAuth service, which alone can seal and open secrets. */
export function createConnectionService({ config }: Pick<WebDeps, 'config'>) {
  const access = oauthServiceOf(config)
  const pathOf = ({ organizationId, id }: ConnectionKey, rest = ''): string =>
    `/organizations/${organizationId}/connections/${id}${rest}`

  async function call<Schema extends v.GenericSchema>(
    schema: Schema,
    request: Parameters<typeof callOauthService>[1],
  ): Promise<v.InferOutput<Schema>> {
    return readAnswer(schema, await callOauthService(requireService(access), request))
  }

  return {
    isThere: access !== undefined,
    providers: () => call(providers, { path: '/providers' }),
    /** Returns a new connection as it would be kept. */
    async check(organizationId: number, body: object): Promise<CheckedConnection> {
      const path = `/organizations/${organizationId}/connection-checks`
      return call(checked, { path, method: 'POST', body })
    },
    async create(by: Actor, organizationId: number, body: object): Promise<string> {
      const path = `/organizations/${organizationId}/connections`
      const request = { path, method: 'POST', body, actor: by } as const
      return (await call(created, request)).connection_id
    },
    async change(by: Actor, key: ConnectionKey, body: object): Promise<boolean> {
      const request = { path: pathOf(key), method: 'PUT', body, actor: by } as const
      return (await call(changed, request)).keeps_tokens
    },
    /** Returns the page of the provider for a session; null: it is connected already. */
    async connect(by: Actor, key: ConnectionKey, session: string): Promise<string | null> {
      const returnTo = `${config.PLATFORM_BASE_URL}/connect/callback`
      const body = { session, return_to: returnTo }
      const request = {
        path: pathOf(key, '/authorization'),
        method: 'POST',
        body,
        actor: by,
      } as const
      return (await call(link, request)).authorization_url
    },
    async complete(by: Actor, query: string, session: Session): Promise<string> {
      const body = { query, session: bindingOf(session) }
      const request = { path: '/authorizations', method: 'POST', body, actor: by } as const
      return (await call(created, request)).connection_id
    },
    test: (key: ConnectionKey) => call(test, { path: pathOf(key, '/test'), method: 'POST' }),
    async revoke(by: Actor, key: ConnectionKey): Promise<Revocation> {
      const request = { path: pathOf(key, '/revocation'), method: 'POST', actor: by } as const
      return (await call(revocation, request)).revocation
    },
    async remove(by: Actor, { id }: ConnectionKey): Promise<Revocation> {
      const request = { path: `/connections/${id}`, method: 'DELETE', actor: by } as const
      return (await call(revocation, request)).revocation
    },
  }
}

function requireService(access: OauthServiceAccess | undefined): OauthServiceAccess {
  if (access) return access
  throw new AppError(
    'unavailable',
    'This platform has no OAuth service, which keeps connections. The operator can deploy it ' +
      'with oauth.enabled, or set PLATFORM_OAUTH_API_BASE_URL and PLATFORM_OAUTH_API_KEY.',
  )
}
