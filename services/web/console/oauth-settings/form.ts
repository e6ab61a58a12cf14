import { ALGORITHMS } from '../../../platform/automations/automation-oauth.ts'
import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'

/** The fields of the form as they were typed. */
export interface OauthFormValues {
  readonly enabled: boolean
  readonly issuer: string
  readonly discoveryUrl: string
  readonly jwksUrl: string
  readonly tokenUrl: string
  /** One per line. */
  readonly audiences: string
  readonly absentAudienceAllowed: boolean
  readonly scope: string
  readonly scopeClaim: string
  readonly algorithms: readonly string[]
  readonly skewSeconds: string
  readonly lifetimeSecondsMax: string
  readonly staticTokensAllowed: boolean
}

/** The largest clock skew that an organization can allow. */
export const SKEW_SECONDS_MAX = 120
/** The range of the longest lifetime of a token. */
export const LIFETIME_SECONDS = { min: 60, max: 2_592_000 } as const
const AUDIENCES_MAX = 20
/** The longest address, in characters. */
export const URL_LENGTH_MAX = 2000

/** Returns the first values of the form: the audience is the base URL (SPEC 5.2.1). */
export const defaultValues = (baseUrl: string): OauthFormValues => ({
  enabled: false,
  issuer: '',
  discoveryUrl: '',
  jwksUrl: '',
  tokenUrl: '',
  audiences: baseUrl,
  absentAudienceAllowed: false,
  scope: 'platform_automations',
  scopeClaim: 'scope',
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  skewSeconds: '30',
  lifetimeSecondsMax: '86400',
  staticTokensAllowed: true,
})

/** Returns saved settings as the values of the form. */
export const valuesOf = (settings: AutomationOauth): OauthFormValues => ({
  ...settings,
  discoveryUrl: settings.discoveryUrl ?? '',
  jwksUrl: settings.jwksUrl ?? '',
  tokenUrl: settings.tokenUrl ?? '',
  audiences: settings.audiences.join('\n'),
  skewSeconds: String(settings.skewSeconds),
  lifetimeSecondsMax: String(settings.lifetimeSecondsMax),
})

/** Reads the form, without judging what was typed. */
export function readValues(form: URLSearchParams): OauthFormValues {
  const field = (name: string): string => (form.get(name) ?? '').trim()
  return {
    enabled: form.has('enabled'),
    issuer: field('issuer'),
    discoveryUrl: field('discovery_url'),
    jwksUrl: field('jwks_url'),
    tokenUrl: field('token_url'),
    audiences: field('audiences'),
    absentAudienceAllowed: form.has('absent_audience_allowed'),
    scope: field('scope'),
    scopeClaim: field('scope_claim'),
    algorithms: form.getAll('algorithms'),
    skewSeconds: field('skew_seconds'),
    lifetimeSecondsMax: field('lifetime_seconds_max'),
    staticTokensAllowed: form.has('static_tokens_allowed'),
  }
}

/** The settings of a form, or the problems with it. */
export type FormResult =
  | { readonly ok: true; readonly settings: AutomationOauth }
  | { readonly ok: false; readonly problems: readonly string[] }

/**
 * Returns the settings that were typed, or every problem with them. `http://` is allowed for the
 * origins that the operator lists.
 */
export function toSettings(values: OauthFormValues, privateOrigins: readonly string[]): FormResult {
  const settings = readSettings(values)
  const problems = problemsOf(settings, privateOrigins).filter(Boolean)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, settings }
}

/** Returns the settings as typed; a text that is no number becomes NaN, outside of every range. */
function readSettings(values: OauthFormValues): AutomationOauth {
  return {
    ...values,
    discoveryUrl: values.discoveryUrl || null,
    jwksUrl: values.jwksUrl || null,
    tokenUrl: values.tokenUrl || null,
    audiences: values.audiences
      .split(/\r?\n/)
      .map((each) => each.trim())
      .filter(Boolean),
    scopeClaim: values.scopeClaim === 'roles' ? 'roles' : 'scope',
    algorithms: ALGORITHMS.filter((each) => values.algorithms.includes(each)),
    skewSeconds: toInteger(values.skewSeconds),
    lifetimeSecondsMax: toInteger(values.lifetimeSecondsMax),
  }
}

function problemsOf(settings: AutomationOauth, privateOrigins: readonly string[]): string[] {
  const { issuer, scope } = settings
  const url = (name: string, text: string | null): string =>
    text === null ? '' : urlProblem(name, text, privateOrigins)
  return [
    url('Issuer', issuer),
    /[?#]/.test(issuer) ? 'Issuer: an issuer must have no query and no fragment.' : '',
    url('Discovery URL', settings.discoveryUrl),
    url('JWKS URL', settings.jwksUrl),
    url('Token URL', settings.tokenUrl),
    audienceProblem(settings.audiences),
    /^[!#-[\]-~]{1,200}$/.test(scope) ? '' : 'Scope: enter one scope, without spaces or quotes.',
    settings.algorithms.length > 0 ? '' : 'Algorithms: allow at least one.',
    rangeProblem('Clock skew', settings.skewSeconds, { min: 0, max: SKEW_SECONDS_MAX }),
    rangeProblem('Maximum lifetime', settings.lifetimeSecondsMax, LIFETIME_SECONDS),
  ]
}

const toInteger = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : Number.NaN)

function rangeProblem(
  name: string,
  value: number,
  { min, max }: { min: number; max: number },
): string {
  return value >= min && value <= max ? '' : `${name}: enter a number between ${min} and ${max}.`
}

function urlProblem(name: string, text: string, privateOrigins: readonly string[]): string {
  if (text.length > URL_LENGTH_MAX) return `${name}: enter at most ${URL_LENGTH_MAX} characters.`
  const problem = addressProblem(text)
  if (problem !== undefined) return `${name}: the address ${problem}.`
  const { protocol, origin } = new URL(text)
  if (protocol === 'https:' || privateOrigins.includes(origin)) return ''
  return (
    `${name}: only https:// is safe. ` +
    `The operator can allow ${origin} in AUTOMATION_OAUTH_PRIVATE_ORIGINS.`
  )
}

function audienceProblem(audiences: readonly string[]): string {
  if (audiences.length === 0)
    return 'Audiences: enter at least one, such as the base URL of this platform.'
  if (audiences.length > AUDIENCES_MAX) return `Audiences: enter at most ${AUDIENCES_MAX}.`
  return audiences.some((each) => /\p{Cc}/u.test(each) || each.length > URL_LENGTH_MAX)
    ? 'Audiences: a line is too long, or contains a control character.'
    : ''
}
