import { html } from 'hono/html'
import * as v from 'valibot'
import {
  ALGORITHMS,
  findAutomationOauth,
  saveAutomationOauth,
  SCOPE_CLAIMS,
} from '../../platform/automations/automation-oauth.ts'
import type { AutomationOauth } from '../../platform/automations/automation-oauth.ts'
import {
  LIFETIME_SECONDS,
  readAutomationOauth,
  SKEW_SECONDS_MAX,
  URL_LENGTH_MAX,
  usualAutomationOauth,
} from '../../platform/automations/automation-oauth-fields.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import { createForwardProxy } from '../../shared/outgoing/forward-proxy.ts'
import { createAutomationOauthGuard } from '../../shared/outgoing/guards.ts'
import { oneOf, trueOrFalse } from '../../shared/schemas.ts'
import { text as string, say } from '../api/openapi/parts.ts'
import { OAUTH_PATH } from '../console/frame/addresses.ts'
import { explainSection } from '../console/frame/explain-section.ts'
import { setupSections } from '../console/oauth-settings/setup-sections.ts'
import type { WebDeps } from '../context.ts'
import { testConfiguration } from '../gate/access-token/test-configuration.ts'
import { choice, lines, number, text, tick, ticks } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, Values } from '../resources/declaration.ts'
import { readForm } from '../resources/values.ts'
import { valuesByName } from './by-name.ts'
import { organization } from './organization.ts'

const TEXT = 'must be a text'
const WHOLE = 'must be a whole number'
const usual = usualAutomationOauth('')

const optionalUrl = () => v.optional(v.nullable(v.string(TEXT)), null)
const url = { max: URL_LENGTH_MAX, isMono: true, isOptional: true } as const
const seconds = (usually: number) => v.optional(v.pipe(v.number(WHOLE), v.integer(WHOLE)), usually)

const fields = {
  enabled: field(trueOrFalse, {
    label: 'Accept access tokens from this authorization server',
    control: tick,
    example: true,
  }),
  issuer: field(v.string(TEXT), {
    label: 'Issuer',
    hint: 'Exactly as in the iss claim of the tokens, including a trailing slash if it has one.',
    control: text({ max: URL_LENGTH_MAX, isMono: true }),
    example: 'https://example.okta.com/oauth2/aus1a2b3c',
  }),
  discovery_url: field(optionalUrl(), {
    label: 'Discovery URL',
    hint:
      'Leave empty to use the well-known addresses of the issuer. The metadata must name the ' +
      'issuer above.',
    control: text(url),
  }),
  jwks_url: field(optionalUrl(), {
    label: 'JWKS URL',
    hint: 'Leave empty to use the address that discovery returns.',
    control: text(url),
  }),
  token_url: field(optionalUrl(), {
    label: 'Token URL',
    hint:
      'Used only in the examples on the pages of your automations. Leave empty to use the ' +
      'address that discovery returns when you save.',
    control: text(url),
    example: 'https://example.okta.com/oauth2/aus1a2b3c/v1/token',
  }),
  audiences: field(v.array(v.string(TEXT), 'must be a list of texts'), {
    label: 'Audiences',
    hint:
      'One per line. A token must name one of them. The default is the base URL of this ' +
      'platform; Entra ID uses the GUID of the API application.',
    control: lines({ rows: 2 }),
    example: ['https://platform.example.com'],
  }),
  absent_audience_allowed: field(v.optional(trueOrFalse, usual.absentAudienceAllowed), {
    label: 'Accept tokens without an audience',
    hint:
      'For Amazon Cognito, whose access tokens name none. A token for another audience is still ' +
      'refused.',
    control: tick,
  }),
  scope: field(v.optional(v.string(TEXT), usual.scope), {
    label: 'Scope',
    hint: 'Every token must contain it.',
    control: text({ max: 200, isMono: true }),
    example: usual.scope,
  }),
  scope_claim: field(
    v.optional(v.picklist(SCOPE_CLAIMS, `must be ${SCOPE_CLAIMS.join(' or ')}`), usual.scopeClaim),
    {
      label: 'Claim that holds it',
      control: choice({ scope: 'scope and scp', roles: 'roles (Entra ID)' }),
      example: usual.scopeClaim,
    },
  ),
  algorithms: field(
    v.optional(v.array(oneOf(ALGORITHMS), 'must be a list of texts'), [...usual.algorithms]),
    {
      label: 'Algorithms',
      control: ticks({
        box: 'algorithms',
        options: Object.fromEntries(ALGORITHMS.map((each) => [each, each])),
      }),
      example: usual.algorithms,
    },
  ),
  skew_seconds: field(seconds(usual.skewSeconds), {
    label: 'Clock skew in seconds',
    hint: `How far clocks may differ, at most ${SKEW_SECONDS_MAX}.`,
    control: number({ min: 0, max: SKEW_SECONDS_MAX }),
    example: usual.skewSeconds,
  }),
  lifetime_seconds_max: field(seconds(usual.lifetimeSecondsMax), {
    label: 'Maximum lifetime in seconds',
    hint: `Between ${LIFETIME_SECONDS.min} and ${LIFETIME_SECONDS.max}; 86400 is a day.`,
    control: number(LIFETIME_SECONDS),
    example: usual.lifetimeSecondsMax,
  }),
  static_tokens_allowed: field(v.optional(trueOrFalse, usual.staticTokensAllowed), {
    label: 'Accept static tokens as well',
    hint: 'Applies while OAuth is on. While it is off, static tokens are always accepted.',
    control: tick,
    example: true,
  }),
}

/** The settings of an organization, whose id they have; the usual ones until others are saved. */
interface Row extends AutomationOauth {
  readonly id: number
  readonly isSetUp: boolean
}

async function rowOf({ sql, deps, owner: { id } }: Call<Organization>): Promise<Row> {
  const found = await findAutomationOauth(sql, id)
  const settings = found ?? usualAutomationOauth(deps.config.PLATFORM_BASE_URL)
  return { id, isSetUp: found !== undefined, ...settings }
}

/** OAuth 2.0 for Automations of an organization (SPEC 5.2). */
export const oauthSettings = resource<Organization, AutomationOauth, Row, typeof fields>({
  kind: 'oauth_setting',
  id: 'number',
  under: organization('/settings', [{ path: OAUTH_PATH, name: 'Settings' }]),
  most: 1,
  isOnly: true,
  fields,
  identity: 'name',
  values: valuesByName(fields),
  facts: { name: [say(string, 'Always `automations`.'), () => 'automations'] },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: async (call) => [await rowOf(call)],
    find: async (call, id) => (Number(id) === call.owner.id ? rowOf(call) : undefined),
    read: async ({ deps, owner }, values) => withTokenUrl(deps, owner, settingsOf(deps, values)),
    async change({ sql, owner }, _, settings) {
      await saveAutomationOauth(sql, owner.id, settings)
      return settings.enabled ? {} : { done: 'saved-off' }
    },
  },
  actions: {},
  words: {
    about: 'The automations of an organization accept the access tokens of one issuer.',
    icon: 'settings',
    form: 'Authorization server',
    tries: 'Test configuration',
    saved: 'The settings are saved. They apply from the next call on.',
  },
  name: () => 'OAuth 2.0 for Automations',
  state: ({ isSetUp, enabled }) => {
    if (enabled) return ['good', 'On']
    return ['idle', isSetUp ? 'Off' : 'Not set up']
  },
  columns: [{ title: 'Issuer', cell: ({ issuer }) => html`<span class="mono">${issuer}</span>` }],
  below: ({ sql, session, path, row }) =>
    row.isSetUp ? explainSection(sql, { session, path }) : html``,
  beside: ({ row }) => setupSections(row.enabled),
})

/** Reads the form of the settings, whether it is to be saved or only tried. */
export const readTyped = (deps: WebDeps, typed: URLSearchParams): AutomationOauth =>
  settingsOf(deps, readForm({ fields }, typed))

const settingsOf = ({ config }: WebDeps, values: Values<typeof fields>): AutomationOauth =>
  readAutomationOauth(
    {
      enabled: values.enabled,
      issuer: values.issuer,
      discoveryUrl: values.discovery_url,
      jwksUrl: values.jwks_url,
      tokenUrl: values.token_url,
      audiences: values.audiences,
      absentAudienceAllowed: values.absent_audience_allowed,
      scope: values.scope,
      scopeClaim: values.scope_claim,
      algorithms: values.algorithms,
      skewSeconds: values.skew_seconds,
      lifetimeSecondsMax: values.lifetime_seconds_max,
      staticTokensAllowed: values.static_tokens_allowed,
    },
    config.AUTOMATION_OAUTH_PRIVATE_ORIGINS,
  )

/**
 * Adds the token URL that discovery returns, for the examples. A provider that is unavailable keeps
 * nobody from saving.
 */
async function withTokenUrl(
  { config }: WebDeps,
  { id: organizationId }: Organization,
  settings: AutomationOauth,
): Promise<AutomationOauth> {
  if (settings.tokenUrl !== null) return settings
  const origins = config.AUTOMATION_OAUTH_PRIVATE_ORIGINS
  const guard = createAutomationOauthGuard(origins, createForwardProxy(config))
  const options = { guard, organizationId }
  const { tokenUrl } = await testConfiguration({ ...settings, jwksUrl: null }, options)
  const isPlain = tokenUrl !== null && addressProblem(tokenUrl) === undefined
  return isPlain && tokenUrl.length <= URL_LENGTH_MAX ? { ...settings, tokenUrl } : settings
}
