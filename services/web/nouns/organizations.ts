import { html } from 'hono/html'
import * as v from 'valibot'
import {
  FEATURE_FLAGS,
  listOwnFlags,
  saveOwnFlags,
  toOwnFlags,
} from '../../platform/feature-flags.ts'
import type { OwnFlags } from '../../platform/feature-flags.ts'
import { createInvitation, INVITATION_DAYS } from '../../platform/people/invitations.ts'
import {
  LIMIT_MAX,
  listOwnLimits,
  ownLimit,
  saveOwnLimits,
} from '../../platform/people/organization-limits.ts'
import type { OwnLimits } from '../../platform/people/organization-limits.ts'
import {
  createOrganization,
  findFigures,
  listOrganizations,
  ORGANIZATION_NAME,
  ORGANIZATION_NAME_RULE,
} from '../../platform/people/organizations.ts'
import type { OrganizationFigures } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { oneOf } from '../../shared/schemas.ts'
import { integer, moment } from '../api/openapi/parts.ts'
import { invitationUrl } from '../console/frame/addresses.ts'
import { count } from '../console/frame/format.ts'
import { ago, factList, pill, time } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { standardLimits } from '../gate/callers/create-limits.ts'
import { number, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, State, View } from '../resources/declaration.ts'
import { factsByName } from './by-name.ts'
import { ownStates } from './flag-fields.ts'
import { OF_PLATFORM, platform } from './platform.ts'
import type { Platform } from './platform.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 10_000
const NAME_MAX = 200

const LIMITS = {
  token_calls_per_minute: 'Calls in a minute with one token',
  organization_calls_per_minute: 'Calls in a minute with all tokens',
  queued_runs: 'Runs in the queue',
}

const limit = (label: string) =>
  field(v.optional(ownLimit, null), {
    label,
    hint: 'Without a number: the limit of the whole platform. 0: no limit.',
    control: number({ min: 0, max: LIMIT_MAX }),
    example: 500,
  })

const fields = {
  name: field(
    v.pipe(v.string('must be a text'), v.regex(ORGANIZATION_NAME, ORGANIZATION_NAME_RULE)),
    { label: 'Name', control: text({ max: NAME_MAX }), example: 'Globex', isFixed: true },
  ),
  token_calls_per_minute: limit(LIMITS.token_calls_per_minute),
  organization_calls_per_minute: limit(LIMITS.organization_calls_per_minute),
  queued_runs: limit(LIMITS.queued_runs),
  feature_flags: field(
    v.optional(
      v.record(
        oneOf(FEATURE_FLAGS),
        v.nullable(v.boolean('must be true, false or null')),
        'must be an object',
      ),
      {},
    ),
    {
      label: 'Feature flags',
      hint: 'True, false, or null for the state of the whole platform',
      control: ownStates,
    },
  ),
}

/** An organization as it is set up. */
interface SetUp {
  readonly name: string
  readonly limits: OwnLimits
  readonly flags: OwnFlags
}

interface Row extends SetUp, OrganizationFigures {
  /** The limits of the whole platform, by their names in JSON. */
  readonly standard: Readonly<Record<keyof typeof LIMITS, number>>
}

type Of = Call<Platform>

async function rowsOf({ sql, deps }: Of, found: readonly OrganizationFigures[]): Promise<Row[]> {
  const ids = found.map(({ id }) => id)
  const [limitsOf, flagsOf] = await Promise.all([listOwnLimits(sql, ids), listOwnFlags(sql, ids)])
  const { tokenCalls, organizationCalls, queuedRuns } = standardLimits(deps.config)
  const standard = {
    token_calls_per_minute: tokenCalls,
    organization_calls_per_minute: organizationCalls,
    queued_runs: queuedRuns,
  }
  return found.map((row) => ({
    ...row,
    limits: limitsOf(row.id),
    flags: flagsOf(row.id),
    standard,
  }))
}

async function findRow(call: Of, id: number): Promise<Row | undefined> {
  const found = await findFigures(call.sql, id)
  const [row] = found ? await rowsOf(call, [found]) : []
  return row
}

async function saveSettings({ sql }: Of, id: number, { limits, flags }: SetUp): Promise<void> {
  await saveOwnLimits(sql, id, limits)
  await saveOwnFlags(sql, id, flags)
}

/** The tenants. Their names are what identity providers and operators call them by, and stay. */
export const organizations = resource<Platform, SetUp, Row, typeof fields>({
  kind: 'organization',
  id: 'number',
  under: platform('/admin/organizations'),
  most: LISTED_MAX,
  fields,
  values: ({ name, limits, flags }) => ({
    name,
    token_calls_per_minute: limits.tokenCalls,
    organization_calls_per_minute: limits.organizationCalls,
    queued_runs: limits.queuedRuns,
    feature_flags: { ...flags },
  }),
  facts: factsByName({
    internal: {
      type: 'boolean',
      description: 'The platform’s own, with the Assistant and the Runner.',
    },
    members: integer,
    admins: integer,
    automations: integer,
    created_at: moment,
  }),
  rights: OF_PLATFORM,
  verbs: {
    async list(call) {
      const { items } = await listOrganizations(call.sql, { limit: LISTED_MAX })
      return rowsOf(call, items)
    },
    async page(call, request) {
      const page = await listOrganizations(call.sql, request)
      return { ...page, items: await rowsOf(call, page.items) }
    },
    find: (call, id) => findRow(call, Number(id)),
    read: async (_, { name, feature_flags: flags, ...given }) => ({
      name,
      limits: {
        tokenCalls: given.token_calls_per_minute,
        organizationCalls: given.organization_calls_per_minute,
        queuedRuns: given.queued_runs,
      },
      flags: toOwnFlags(flags),
    }),
    async create(call, given) {
      const { id } = await createOrganization(call.sql, given.name)
      await saveSettings(call, id, given)
      const row = await findRow(call, id)
      if (row) return { row }
      throw new AppError('conflict', 'The organization is deleted.')
    },
    change: (call, { id }, given) => saveSettings(call, id, given),
  },
  actions: {
    invite: {
      text: 'Invite an admin',
      past: 'admin_invited',
      done: 'The invitation is made.',
      makesSecret: true,
      async does({ sql, deps, userId: createdBy }, { id: organizationId }) {
        const invitation = { organizationId, role: 'admin', note: 'An admin', createdBy } as const
        const { token } = await createInvitation(sql, invitation)
        return { secret: invitationUrl(deps.config.PLATFORM_BASE_URL, token) }
      },
    },
  },
  words: {
    about: 'An organization has its own people, projects and automations.',
    icon: 'building',
    form: 'Limits and flags',
    saved: 'The organization is saved. Its limits apply within seconds.',
  },
  secret: {
    key: 'link',
    label: 'Invitation',
    isOfActions: true,
    hint: ({ row }) =>
      html`<p>
        The first person who opens this link within ${INVITATION_DAYS} days can become an admin of
        ${row.name}.
      </p>`,
  },
  name: ({ name }) => name,
  concerns: ({ id }) => id,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    { title: 'Members', cell: ({ members }) => count(members) },
    { title: 'Admins', cell: ({ admins }) => count(admins) },
    { title: 'Automations', cell: ({ automations }) => count(automations) },
    { title: 'Created', className: 'quiet', cell: ({ createdAt }) => ago(createdAt) },
  ],
  beside: figuresSection,
})

function stateOf({ internal, admins }: Row): State {
  if (internal) return ['idle', 'Internal']
  return admins === 0 ? ['waiting', 'No admin'] : ['good', 'In use']
}

function figuresSection({ row }: View<Platform, Row>): Html {
  const { internal, members, admins, automations, createdAt, standard } = row
  const limits = Object.entries(LIMITS).map(([name, label]): [string, string] => [
    label,
    limitIn(standard, name),
  ])
  return html`<section class="card" aria-labelledby="figures">
      <div class="card-head"><h2 id="figures">What it has</h2></div>
      ${internal ? html`<p class="hint">The platform’s own: Assistant and Runner</p>` : ''}
      ${factList('facts', [
        ['Members', count(members)],
        ['Admins', admins === 0 && !internal ? pill('waiting', 'none') : count(admins)],
        ['Automations', count(automations)],
        ['Created', time(createdAt)],
      ])}
    </section>
    <section class="card" aria-labelledby="standard">
      <div class="card-head"><h2 id="standard">Limits of the whole platform</h2></div>
      ${factList('facts', limits)}
    </section>`
}

function limitIn(standard: Row['standard'], name: string): string {
  const found = Object.entries(standard).find(([each]) => each === name)?.[1] ?? 0
  return found === 0 ? 'no limit' : count(found)
}
