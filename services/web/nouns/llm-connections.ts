import { html } from 'hono/html'
import * as v from 'valibot'
import { LLM_LENGTHS, readLlmConnection } from '../../platform/connections/llm-connection-fields.ts'
import type { GivenLlmConnection } from '../../platform/connections/llm-connection-fields.ts'
import {
  createLlmConnection,
  deleteLlmConnection,
  findLlmConnection,
  listLlmConnections,
  LLM_CONNECTIONS_MAX,
  setSealedKey,
  suggestModels,
  updateLlmConnection,
} from '../../platform/connections/llm-connections.ts'
import type { LlmConnection } from '../../platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../platform/connections/llm-keys.ts'
import { PROVIDER_NAMES } from '../../platform/connections/llm-providers.ts'
import { requireRegion } from '../../platform/connections/regions.ts'
import { SERVICE_TIER } from '../../shared/models/llm-answer.ts'
import { LLM_APIS } from '../../shared/models/llm-call.ts'
import type { LlmApi } from '../../shared/models/llm-call.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { oneOf } from '../../shared/schemas.ts'
import {
  credentialsState,
  findCredentials,
  surroundingsOf,
} from '../console/llm-connections/test-connection.ts'
import type { Credentials } from '../console/llm-connections/test-connection.ts'
import { llmTestSection } from '../console/llm-connections/test-section.ts'
import { choice, secret, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { factsByName } from './by-name.ts'
import { organization } from './organization.ts'
import { region } from './region.ts'

const words = () => v.string('must be a text')
const upTo = (max: number) =>
  v.pipe(words(), v.maxLength(max, `must have at most ${max} characters`))

const APIS: Readonly<Record<LlmApi, string>> = {
  auto: 'As its answers ask for',
  chat_completions: 'chat/completions',
  responses: 'responses',
}

const fields = {
  name: field(upTo(LLM_LENGTHS.name), {
    label: 'Name',
    control: text({ max: LLM_LENGTHS.name }),
    example: 'Team gateway',
  }),
  provider: field(words(), {
    label: 'Provider',
    control: text({ max: LLM_LENGTHS.provider }),
    example: 'openai',
  }),
  model: field(upTo(LLM_LENGTHS.model), {
    label: 'Model',
    hint:
      'Crews whose definition names this model use the connection. The models that your crews ' +
      'name are suggested.',
    control: text({ max: LLM_LENGTHS.model, isMono: true }),
    example: 'gpt-5.4-mini',
  }),
  base_url: field(v.optional(v.nullable(words()), null), {
    label: 'Base URL',
    hint:
      'The address of an OpenAI-compatible endpoint of your own. Only the key of this connection ' +
      'is sent there, never a key of the platform.',
    control: text({ max: LLM_LENGTHS.baseUrl, isMono: true, isOptional: true, type: 'url' }),
    example: 'https://llm.example.com/v1',
  }),
  api: field(v.optional(oneOf(LLM_APIS), 'auto'), {
    label: 'API',
    hint:
      'Crews ask at chat/completions first, and at responses once the answer says that the model ' +
      'needs it.',
    control: choice(APIS),
    example: 'auto',
  }),
  region,
  batch_tier: field(
    v.optional(
      v.nullable(
        v.pipe(words(), v.regex(SERVICE_TIER, 'must be a word in small letters, such as flex')),
      ),
      null,
    ),
    {
      label: 'Service tier for batches',
      hint:
        'Runs of batches ask for it, such as flex, which is slower and costs less; where it has ' +
        'no room, they ask without it. A price for model@flex says what it costs.',
      control: text({ max: 40, isMono: true, isOptional: true }),
      example: 'flex',
    },
  ),
  api_key: field(v.optional(upTo(LLM_LENGTHS.key)), {
    label: 'API key',
    hint:
      'Stored encrypted and never shown again. Without a key, the variables of the platform are ' +
      'used. A key that is stored stays, unless the provider or the base URL changes.',
    control: secret({ max: LLM_LENGTHS.key }),
  }),
}

/** A connection with what its calls carry. */
type Row = LlmConnection & { readonly credentials: Credentials }
type OfOrganization = Call<Organization>

function withCredentials({ deps }: OfOrganization): (connection: LlmConnection) => Row {
  const surroundings = surroundingsOf(deps)
  return (connection) => ({
    ...connection,
    credentials: findCredentials(connection, surroundings),
  })
}

/** The endpoint and the key of a model, for all crews of an organization. */
export const llmConnections = resource<Organization, GivenLlmConnection, Row, typeof fields>({
  kind: 'llm_connection',
  id: 'number',
  under: organization('/llm-connections'),
  most: LLM_CONNECTIONS_MAX,
  fields,
  values: ({ name, provider, model, baseUrl, api, region: place, batchTier, key }) => ({
    name,
    provider,
    model,
    base_url: baseUrl,
    api,
    region: place,
    batch_tier: batchTier ?? null,
    api_key: key,
  }),
  facts: factsByName({
    has_key: {
      type: 'boolean',
      description: 'It has a key of its own; else the platform’s is used.',
    },
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    async list(call) {
      const all = { limit: LLM_CONNECTIONS_MAX }
      const { items } = await listLlmConnections(call.sql, call.owner.id, all)
      return items.map(withCredentials(call)).toSorted((one, other) => one.id - other.id)
    },
    async page(call, request) {
      const page = await listLlmConnections(call.sql, call.owner.id, request)
      return { ...page, items: page.items.map(withCredentials(call)) }
    },
    async find(call, id) {
      const key = { id: Number(id), organizationId: call.owner.id }
      const found = await findLlmConnection(call.sql, key)
      return found && withCredentials(call)(found)
    },
    async read({ sql, deps, owner }, given) {
      const { base_url: baseUrl, api_key: key, batch_tier: batchTier, ...values } = given
      await requireRegion(sql, owner.id, values)
      return readLlmConnection(surroundingsOf(deps).guard, { ...values, batchTier, baseUrl, key })
    },
    async create(call, { key, ...given }) {
      const connection = { ...given, organizationId: call.owner.id }
      const row = await createLlmConnection(call.sql, connection)
      await store(call, row, key)
      return { row: withCredentials(call)(row), done: 'created' }
    },
    async change(call, { id, hasKey }, { key, ...given }) {
      const organizationId = call.owner.id
      const row = await updateLlmConnection(call.sql, id, { ...given, organizationId })
      if (!row) throw new AppError('not_found', 'This organization has no such LLM connection.')
      await store(call, row, key)
      return hasKey && !row.hasKey && key === undefined ? { done: 'key-forgotten' } : {}
    },
    remove: ({ sql }, row) => deleteLlmConnection(sql, row),
  },
  actions: {
    forget: {
      text: 'Remove the stored key',
      past: 'key_removed',
      done: 'The key is removed. The variables of the platform are used from now on.',
      isOffered: ({ hasKey }) => hasKey,
      does: ({ sql }, row) => setSealedKey(sql, row, null),
    },
  },
  words: {
    about:
      'A connection uses a provider, an address or a key of your own. Without one, crews call ' +
      'their models with the credentials of the platform.',
    icon: 'link',
    form: 'Settings',
    saved: 'The connection is saved.',
    deleted: 'The connection is deleted.',
    deletes: 'Runs that start afterwards call its model with the credentials of the platform.',
  },
  name: ({ name }) => name,
  state: ({ credentials }) => credentialsState(credentials),
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    {
      title: 'Model',
      className: 'row-wide',
      cell: ({ model, provider }) =>
        html`<span class="mono">${model}</span> <span class="sub mono">${provider}</span>`,
    },
    {
      title: 'Address',
      className: 'quiet row-wide',
      cell: ({ baseUrl }) =>
        baseUrl ? html`<span class="mono break">${baseUrl}</span>` : 'The provider’s own',
    },
  ],
  suggests: async ({ sql, owner }) => ({
    provider: PROVIDER_NAMES,
    model: await suggestModels(sql, owner.id),
  }),
  beside: ({ session, row }) => llmTestSection({ session, connection: row, ...row }),
})

async function store({ sql, deps }: OfOrganization, row: LlmConnection, key?: string) {
  if (key === undefined) return
  const keys = createLlmKeys(deps.config.SECRET_KEY_BASE)
  await setSealedKey(sql, row, keys.seal(key, row))
}
