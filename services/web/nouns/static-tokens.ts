import { html } from 'hono/html'
import { listAutomationNames } from '../../platform/automations/automations.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { readStaticToken, requireWithin } from '../../platform/automations/static-token-fields.ts'
import type { StaticTokenFields } from '../../platform/automations/static-token-fields.ts'
import {
  createStaticToken,
  ENDING_DAYS,
  endStaticToken,
  findStaticToken,
  listStaticTokens,
  revokeStaticToken,
  STATIC_TOKENS_MAX,
} from '../../platform/automations/static-tokens.ts'
import type { ListedToken } from '../../platform/automations/static-tokens.ts'
import { AppError } from '../../shared/errors.ts'
import { TOKEN_SCOPES } from '../../platform/automations/token-limits.ts'
import { automationUrl } from '../api/automation/automation-urls.ts'
import { moment, nullable, perhapsMoment, text as string } from '../api/openapi/parts.ts'
import { automationHead } from '../console/frame/automation-tabs.ts'
import { inputsCommand } from '../console/frame/commands.ts'
import { absoluteTime } from '../console/frame/format.ts'
import { ago, copyable } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { installCommands, tokenCommand, uploadCommands } from '../console/tool-packages/commands.ts'
import { commandBox } from '../console/tool-packages/list-page.ts'
import { resource } from '../resources/declaration.ts'
import type { Declaration, Made, Parent, Resource, State, View } from '../resources/declaration.ts'
import { formOf } from '../resources/pages.ts'
import { typedOf } from '../resources/values.ts'
import { automation } from './automation.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { organization } from './organization.ts'
import { fields, OVERLAP_DAYS, proposedDays } from './token-fields.ts'

const DAY_MS = 86_400_000

/** Whose tokens are listed: of an organization, or those that may call one automation of it. */
interface Tokens {
  readonly organizationId: number
  /** null: of all. */
  readonly id: number | null
  readonly slug?: string
}

type Of<Owner> = Declaration<Owner, StaticTokenFields, ListedToken, typeof fields>

const shown = {
  kind: 'static_token',
  id: 'number',
  most: STATIC_TOKENS_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    last_four: string,
    created_at: moment,
    expires_at: perhapsMoment,
    last_used_at: perhapsMoment,
    last_used_address: nullable('string'),
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  actions: {},
  words: {
    about: 'A static token lets one system call automations and the API.',
    icon: 'key',
    form: 'What it may do',
    saved: 'The token is issued.',
    deleted: 'The token is deleted. Calls that use it are refused from now on.',
    deletes:
      'Every system that uses it loses access, from the next call on. A deleted token cannot be ' +
      'restored.',
  },
  secret: { key: 'token', label: 'Token', hint: commandsWith },
  name: ({ name, lastFour }) => `${name} (pat_…${lastFour})`,
  state: stateOf,
  columns: [
    {
      title: 'Name',
      cell: ({ name, lastFour }) =>
        html`<span class="break">${name}</span> <span class="sub mono">pat_…${lastFour}</span>`,
    },
    {
      title: 'Valid for',
      className: 'row-wide',
      cell: ({ automationName }) => automationName ?? 'Whole organization',
    },
    { title: 'It may', className: 'row-wide break', cell: scopeText },
    {
      title: 'Ends',
      className: 'quiet',
      cell: ({ expiresAt }) => (expiresAt ? absoluteTime(expiresAt).slice(0, 10) : 'Never'),
    },
    { title: 'Last used', className: 'quiet wide', cell: lastUse },
  ],
  beside: replaceSection,
} satisfies Omit<Of<unknown>, 'under' | 'verbs' | 'proposes'>

const verbsOf = <Owner>(tokensOf: (owner: Owner) => Tokens): Of<Owner>['verbs'] => ({
  async list({ sql, owner }) {
    const { items } = await listStaticTokens(sql, tokensOf(owner), { limit: STATIC_TOKENS_MAX })
    return items.toReversed()
  },
  page: ({ sql, owner }, request) => listStaticTokens(sql, tokensOf(owner), request),
  async find({ sql, owner }, id) {
    const { organizationId, id: automationId } = tokensOf(owner)
    const found = await findStaticToken(sql, { id: Number(id), organizationId })
    const isOfOther =
      automationId !== null && ![automationId, null].includes(found?.deploymentId ?? null)
    return isOfOther ? undefined : found
  },
  read: ({ sql, deps: { config }, owner }, given) => {
    const { organizationId } = tokensOf(owner)
    const daysMax = config.STATIC_TOKEN_DAYS_MAX
    return readStaticToken(sql, { organizationId, daysMax }, given)
  },
  async create({ sql, owner, userId: createdBy, tokenId }, { days, ...given }) {
    const { organizationId } = tokensOf(owner)
    const expiresAt = days === null ? null : new Date(Date.now() + days * DAY_MS)
    const token = { ...given, expiresAt, organizationId, createdBy }
    if (tokenId !== null) await requireWithin(sql, tokenId, token)
    const { id, secret } = await createStaticToken(sql, {
      ...token,
      replaces: given.replaces ?? undefined,
    })
    if (given.replaces !== null) {
      await endStaticToken(sql, { id: given.replaces, organizationId }, OVERLAP_DAYS)
    }
    const row = await findStaticToken(sql, { id, organizationId })
    if (row) return { row, secret }
    throw new AppError('conflict', 'The token is deleted.')
  },
  remove: ({ sql, owner }, { id }) =>
    revokeStaticToken(sql, { id, organizationId: tokensOf(owner).organizationId }),
})

const tokensUnder = <Owner>(under: Parent<Owner>, tokensOf: (owner: Owner) => Tokens): Resource =>
  resource<Owner, StaticTokenFields, ListedToken, typeof fields>({
    ...shown,
    under,
    verbs: verbsOf(tokensOf),
    proposes: async ({ deps: { config }, owner }) => ({
      automation: tokensOf(owner).slug,
      scopes: ['kickoff', 'read'],
      days: proposedDays(config),
    }),
    suggests: async ({ sql, owner }) => {
      const automations = await listAutomationNames(sql, tokensOf(owner).organizationId)
      return { automation: automations.map(({ slug }) => slug) }
    },
  })

/** What systems call the automations of an organization with. */
export const staticTokens = tokensUnder(organization('/static-tokens'), ({ id }) => ({
  organizationId: id,
  id: null,
}))

/** The tokens that may call an automation, in its tab *Tokens*. */
export const tokensOfAutomation = tokensUnder<Automation>(
  {
    ...automation,
    head: (owner, { hint, aside }) =>
      automationHead({ automation: owner, tab: 'tokens', hint, aside }),
  },
  ({ organizationId, id, slug }) => ({ organizationId, id, slug }),
)

function scopeText({ scopes, networks }: ListedToken): string {
  const what = scopes.length === TOKEN_SCOPES.length ? 'Everything' : scopes.join(', ')
  return networks.length === 0 ? what : `${what}, from ${networks.join(', ')}`
}

function stateOf({ expiresAt }: ListedToken): State {
  const leftMs = expiresAt === null ? Infinity : expiresAt.getTime() - Date.now()
  if (leftMs <= 0) return ['bad', 'Ended']
  return leftMs < ENDING_DAYS * DAY_MS ? ['busy', 'Ends soon'] : ['good', 'Works']
}

function lastUse({ lastUsedAt, lastUsedAddress }: ListedToken): Html | string {
  if (!lastUsedAt) return 'Never'
  return html`${ago(lastUsedAt)}
  ${lastUsedAddress ? html`<span class="sub mono">${lastUsedAddress}</span>` : ''}`
}

/** The form of another token with the same limits. */
function replaceSection<Owner>({ session, row, path }: View<Owner, ListedToken>): Html {
  const { name, automation: slug, scopes, days, networks } = row
  const typed = typedOf(fields, {
    name,
    automation: slug,
    scopes,
    days,
    networks,
    replaces: row.id,
  })
  const form = { session, typed, path: path.slice(0, path.lastIndexOf('/')), verb: 'Replace' }
  return html`<section class="card" aria-labelledby="replace">
    <div class="card-head"><h2 id="replace">Replace it</h2></div>
    <p class="hint">
      A new token takes its place. This one is good for another ${OVERLAP_DAYS} days at the most:
      put the new one into the systems that use it, and delete this one earlier once they all do.
    </p>
    ${formOf(Object.entries(fields), form)}
  </section>`
}

/** Commands that try a token, or publish packages with it. */
function commandsWith<Owner>({ deps, row, secret }: Made<Owner, ListedToken>): Html {
  const { automationId, scopes } = row
  const baseUrl = deps.config.PLATFORM_BASE_URL
  if (automationId !== null && scopes.includes('read')) {
    const command = inputsCommand(automationUrl(deps.config, automationId), secret)
    return html`<p class="hint">To try it, ask which inputs the automation needs:</p>
      ${copyable('Command that tries the token', command)}`
  }
  if (automationId !== null || !scopes.includes('upload')) return html``
  const commands = [
    tokenCommand(secret),
    ...uploadCommands(baseUrl, 'organization'),
    ...installCommands(baseUrl, 'organization', 'my-tool'),
  ]
  return html`${commands.map(commandBox)}`
}
