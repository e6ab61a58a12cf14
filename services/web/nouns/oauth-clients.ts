import { html } from 'hono/html'
import * as v from 'valibot'
import { findAutomationOauth } from '../../platform/automations/automation-oauth.ts'
import {
  bindOauthClient,
  findAutomation,
  listAutomations,
} from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { listClientSightings } from '../../platform/automations/client-sightings.ts'
import type { ClientSighting } from '../../platform/automations/client-sightings.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { nullable, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { OAUTH_PATH } from '../console/frame/addresses.ts'
import { isUuidCursor } from '../console/frame/lists/page-request.ts'
import { ago } from '../console/frame/parts.ts'
import { text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, State } from '../resources/declaration.ts'
import { valuesByName } from './by-name.ts'
import { organization } from './organization.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 1000
const LENGTH_MAX = 255

const fields = {
  client_id: field(
    v.optional(
      v.nullable(
        v.pipe(
          v.string('must be a text'),
          // RFC 6749 A.1, with spaces only inside. The claim must match exactly.
          v.regex(
            /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/,
            'must have 1 to 255 visible ASCII characters and no space at either end: copy it ' +
              'from the identity provider again',
          ),
        ),
      ),
      null,
    ),
    {
      label: 'OAuth Client ID',
      hint:
        'An access token is accepted only if its client ID is exactly this one. None: calls with ' +
        'an access token are refused.',
      control: {
        ...text({ max: LENGTH_MAX, isMono: true, isOptional: true }),
        read: (typed, name) => typed.get(name) || undefined,
      },
      example: '0oa1b2c3d4',
    },
  ),
}

interface Client {
  readonly clientId: string | null
}

/** An automation with its client, and the one that was last seen. */
interface Row extends Client, Pick<Automation, 'name' | 'slug'> {
  readonly id: string
  readonly seen: ClientSighting | undefined
  /** The organization takes access tokens. */
  readonly isOn: boolean
}

async function rowsOf(
  { sql, owner }: Call<Organization>,
  automations: readonly Automation[],
): Promise<Row[]> {
  const [settings, sightings] = await Promise.all([
    findAutomationOauth(sql, owner.id),
    listClientSightings(
      sql,
      automations.map(({ id }) => id),
    ),
  ])
  return automations.map(({ id, automationId, name, slug, oauthClientId }) => ({
    id: automationId,
    name,
    slug,
    clientId: oauthClientId,
    seen: sightings.get(id),
    isOn: settings?.enabled === true,
  }))
}

/** The one OAuth client that may call an automation (SPEC 5.3). */
export const oauthClients = resource<Organization, Client, Row, typeof fields>({
  kind: 'oauth_client',
  id: 'uuid',
  under: organization('/settings', [
    { path: OAUTH_PATH, name: 'Settings' },
    { path: OAUTH_PATH, name: 'OAuth 2.0 for Automations' },
  ]),
  most: LISTED_MAX,
  fields,
  identity: 'automation',
  values: valuesByName(fields),
  facts: {
    automation: [say(string, 'Its slug; the id is its own.'), ({ slug }) => slug],
    seen_client_id: [
      say(nullable('string'), 'Of the last access token that was signed well.'),
      ({ seen }) => seen?.clientId ?? null,
    ],
    seen_at: [perhapsMoment, ({ seen }) => seen?.seenAt ?? null],
  },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    async list(call) {
      const page = await listAutomations(call.sql, call.owner.id, { limit: LISTED_MAX })
      return rowsOf(call, page.items)
    },
    async page(call, { after, before, ...request }) {
      const [from, to] = [after, before].map((each) =>
        isUuidCursor(each ?? '') ? each : undefined,
      )
      const asked = { ...request, after: from, before: to }
      const page = await listAutomations(call.sql, call.owner.id, asked)
      return { ...page, items: await rowsOf(call, page.items) }
    },
    async find(call, id) {
      const found = await findAutomation(call.sql, id)
      const [row] = found?.organizationId === call.owner.id ? await rowsOf(call, [found]) : []
      return row
    },
    read: async (_, { client_id: clientId }) => ({ clientId }),
    change: ({ sql, owner }, { id }, { clientId }) =>
      bindOauthClient(sql, { automationId: id, organizationId: owner.id }, clientId),
  },
  actions: {},
  words: {
    about: 'An automation takes the access tokens of one OAuth client.',
    icon: 'automations',
    form: 'OAuth client',
    saved: 'The OAuth client is saved. It applies from the next call on.',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    {
      title: 'Automation',
      cell: ({ name, slug }) => html`${name} <span class="sub mono">${slug}</span>`,
    },
    {
      title: 'OAuth Client ID',
      className: 'row-wide',
      cell: ({ clientId }) =>
        clientId === null
          ? html`<span class="quiet">None: OAuth calls are refused</span>`
          : html`<span class="value break">${clientId}</span>`,
    },
    {
      title: 'Last client seen',
      className: 'wide',
      cell: ({ seen }) =>
        seen
          ? html`<span class="value break">${seen.clientId}</span>
              <span class="sub">${ago(seen.seenAt)}</span>`
          : html`<span class="quiet">None yet</span>`,
    },
  ],
})

function stateOf({ seen, clientId, isOn }: Row): State {
  if (!isOn) return ['idle', 'OAuth is off']
  if (!seen) return ['idle', clientId === null ? 'No client' : 'Not seen yet']
  return seen.clientId === clientId ? ['good', 'Accepted'] : ['bad', 'Refused']
}
