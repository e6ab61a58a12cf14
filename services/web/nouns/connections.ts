import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import {
  AUTH_METHODS,
  CONNECTION_KINDS,
  EXCHANGES,
  findConnection,
  listConnections,
} from '../../platform/connections/oauth-connections.ts'
import type {
  ConnectionKind,
  ConnectionSettings,
  OauthConnection,
} from '../../platform/connections/oauth-connections.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { oneOf } from '../../shared/schemas.ts'
import { nullable, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { createConnectionService } from '../console/connections/service.ts'
import { stateOf } from '../console/connections/state.ts'
import { choice, json, lines, secret, text, words } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, Values } from '../resources/declaration.ts'
import { organization } from './organization.ts'
import { region } from './region.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 1000
const LENGTH_MAX = 2000
const SECRET_MAX = 8192

const TEXT = 'must be a text'
const texts = () => v.optional(v.array(v.string(TEXT), 'must be a list'), [])
const perhaps = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.optional(v.nullable(schema), null)
const line = text({ max: LENGTH_MAX, isMono: true, isOptional: true })
const perhapsText = (label: string, hint?: string) =>
  field(perhaps(v.string(TEXT)), { label, control: line, ...(hint !== undefined && { hint }) })

/** What is right for which kind, and which addresses may be called, the OAuth service says. */
const fields = {
  name: field(v.string(TEXT), {
    label: 'Name',
    hint: 'Tools name the connection by it. It stays as it is.',
    control: text({ max: 64 }),
    example: 'files',
    isFixed: true,
  }),
  provider: field(v.string(TEXT), {
    label: 'Provider',
    hint: 'A word for it; one of the operator’s where there is no kind.',
    control: text({ max: 64 }),
    example: 'token',
  }),
  kind: field(perhaps(oneOf(CONNECTION_KINDS)), {
    label: 'Kind',
    hint: 'The way to its token. Null: the operator has set the provider up.',
    control: choice(Object.fromEntries(CONNECTION_KINDS.map((kind) => [kind, kind]))),
    example: 'static_token',
    isFixed: true,
  }),
  hosts: field(texts(), {
    label: 'Places that may get the token',
    hint:
      'Hosts such as api.example.com or *.example.com, or beginnings of URLs. Without any, the ' +
      'token goes wherever a tool of your organization calls.',
    control: lines({ rows: 2 }),
    example: ['api.example.com'],
  }),
  region,
  issuer: perhapsText('Issuer', 'Endpoints that are not entered are discovered from here.'),
  authorization_endpoint: perhapsText('Authorization endpoint'),
  token_endpoint: perhapsText('Token endpoint'),
  revocation_endpoint: perhapsText('Revocation endpoint'),
  client_id: perhapsText('Client ID'),
  client_secret: field(v.optional(v.string(TEXT)), {
    label: 'Client secret',
    hint: 'One that is stored stays while it would go to the same addresses.',
    control: secret({ max: SECRET_MAX }),
  }),
  token_endpoint_auth_method: field(perhaps(oneOf(AUTH_METHODS)), {
    label: 'Authentication of the client',
    control: choice(Object.fromEntries(AUTH_METHODS.map((method) => [method, method]))),
  }),
  scopes: field(texts(), {
    label: 'Scopes',
    hint: 'Ask for no more than the tools need.',
    control: words,
  }),
  parameters: field(v.optional(v.record(v.string(), v.string(TEXT), 'must be an object'), {}), {
    label: 'More parameters',
    hint: 'Of the authorization request, or of the token request of a client for itself.',
    control: json({ rows: 2 }),
  }),
  test_url: perhapsText('Test address', 'Answers a GET with the token by 2xx while it is good.'),
  audience: perhapsText(
    'Audience',
    'For the kind identity: whom the identity of a run is for, as the receiver asks for it.',
  ),
  exchange: field(perhaps(oneOf(EXCHANGES)), {
    label: 'Exchange',
    hint:
      'For the kind identity: how it is exchanged at the token endpoint. Null: it is sent as it ' +
      'is.',
    control: choice(Object.fromEntries(EXCHANGES.map((each) => [each, each]))),
  }),
  header: perhapsText('Header', 'That the token goes into. Null: Authorization.'),
  prefix: perhapsText('Word before the token', 'Null: Bearer. An empty text: none.'),
  token: field(v.optional(v.string(TEXT)), {
    label: 'Token',
    hint: 'For the kind static_token. A stored one stays while it goes to the same places.',
    control: secret({ max: SECRET_MAX }),
  }),
}

interface Given {
  readonly name: string
  readonly provider: string
  readonly kind: ConnectionKind
  /** null: the provider is one of the operator's. */
  readonly settings: ConnectionSettings | null
  readonly hosts: readonly string[]
  readonly region: string | null
  readonly clientSecret?: string | undefined
  readonly token?: string | undefined
}

const addressesOf = (settings: ConnectionSettings) => ({
  issuer: settings.issuer ?? null,
  authorization_endpoint: settings.authorization_endpoint ?? null,
  token_endpoint: settings.token_endpoint ?? null,
  revocation_endpoint: settings.revocation_endpoint ?? null,
  test_url: settings.test_url ?? null,
})

function valuesOf({
  name,
  provider,
  hosts,
  region: place,
  ...given
}: Given): Values<typeof fields> {
  const settings = given.settings ?? {}
  return {
    name,
    provider,
    kind: given.settings === null ? null : given.kind,
    hosts: [...hosts],
    region: place,
    ...addressesOf(settings),
    client_id: settings.client_id ?? null,
    client_secret: given.clientSecret,
    token_endpoint_auth_method: settings.token_endpoint_auth_method ?? null,
    scopes: [...(settings.scopes ?? [])],
    parameters: { ...settings.parameters },
    audience: settings.audience ?? null,
    exchange: settings.exchange ?? null,
    header: settings.header ?? null,
    prefix: settings.prefix ?? null,
    token: given.token,
  }
}

type OfOrganization = Call<Organization>

const serviceOf = ({ deps }: OfOrganization) => createConnectionService(deps)

/** An account or an endpoint at a third party, whose tokens the OAuth service keeps. */
export const connections = resource<Organization, Given, OauthConnection, typeof fields>({
  kind: 'connection',
  id: 'uuid',
  under: organization('/connections'),
  most: LISTED_MAX,
  fields,
  isRecordedElsewhere: true,
  values: valuesOf,
  facts: {
    status: [
      { ...string, enum: ['pending', 'connected', 'needs_authorization'] },
      ({ status }) => status,
    ],
    problem: [
      say(nullable('string'), 'What is to be done, or why the last test failed.'),
      (row) => stateOf(row).advice ?? null,
    ],
    has_client_secret: [{ type: 'boolean' }, ({ hasClientSecret }) => hasClientSecret],
    granted_scope: [nullable('string'), ({ scope }) => scope],
    expires_at: [
      say(perhapsMoment, 'The end of the access token, which may be renewed.'),
      ({ expiresAt }) => expiresAt,
    ],
    connected_at: [perhapsMoment, ({ authorizedAt }) => authorizedAt],
  },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    async list({ sql, owner }) {
      const rows = await listConnections(sql, owner.id, { limit: LISTED_MAX })
      return rows.toSorted((one, other) => one.createdAt.getTime() - other.createdAt.getTime())
    },
    async find({ sql, owner }, id) {
      const found = await findConnection(sql, id)
      return found?.organizationId === owner.id ? found : undefined
    },
    async read(call, { client_secret: clientSecret, token, ...values }) {
      const body = toBody({ ...values, client_secret: clientSecret, token })
      const kept = await serviceOf(call).check(call.owner.id, { ...body, name: values.name })
      return { ...kept, name: values.name, clientSecret, token }
    },
    async create(call, given) {
      const { sql, owner, actor } = call
      const body = { ...toBody(valuesOf(given)), name: given.name }
      const id = await serviceOf(call).create(actor, owner.id, body)
      const row = await findConnection(sql, id)
      if (row) return { row }
      throw new AppError('not_found', 'The connection was deleted meanwhile.')
    },
    async change(call, row, given) {
      const body = { ...toBody(valuesOf(given)), settings_version: row.settingsVersion }
      await serviceOf(call).change(call.actor, row, body)
    },
    remove: (call, row) => serviceOf(call).remove(call.actor, row),
  },
  actions: {
    connect: {
      text: 'Connect a client for itself',
      past: 'connected',
      done: 'The connection is connected. Tools can use it from now on.',
      isOffered: ({ kind }) => kind === 'client_credentials',
      async does(call, row) {
        if (row.kind === 'client_credentials') {
          await serviceOf(call).connect(call.actor, row, randomUUID())
          return
        }
        const path = `${call.deps.config.PLATFORM_BASE_URL}/connections/${row.id}`
        throw new AppError('unprocessable', `A person has to connect it, in a browser: ${path}.`)
      },
    },
    test: {
      text: 'Test',
      past: 'tested',
      done: 'The token is tried. The answer has what was wrong with it as its problem.',
      does: async (call, row) => void (await serviceOf(call).test(row)),
    },
    revoke: {
      text: 'Revoke',
      past: 'revoked',
      done: 'Its tokens are deleted, and revoked at the provider where that is possible.',
      does: async (call, row) => void (await serviceOf(call).revoke(call.actor, row)),
    },
  },
  words: {
    about:
      'Tools that call an API or an MCP server use the account or the key of a connection. A ' +
      'person connects one with an authorization code, in the console.',
    icon: 'plug',
    form: 'Settings',
    saved: 'The connection is saved.',
    deleted: 'The connection is deleted.',
    deletes:
      'Its tokens are revoked at the provider, where that is possible. Runs whose tools name it ' +
      'fail.',
  },
  name: ({ name }) => name,
  state(row) {
    const { tone, word, advice } = stateOf(row)
    return [tone, word, advice]
  },
  columns: [{ title: 'Name', cell: ({ name }) => name }],
})

/** Returns values as the OAuth service takes them: without the name, and what has no value. */
function toBody(given: Values<typeof fields>): object {
  const { name: _, scopes, parameters, ...values } = given
  const isOfClient = given.kind === 'authorization_code' || given.kind === 'client_credentials'
  const all = {
    ...values,
    ...((isOfClient || scopes.length > 0) && { scopes }),
    ...((isOfClient || Object.keys(parameters).length > 0) && { parameters }),
  }
  const entries = Object.entries(all).filter(([, each]) => each !== null && each !== undefined)
  return Object.fromEntries(entries)
}
