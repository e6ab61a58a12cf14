import { AppError } from '../../shared/errors.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import { ALGORITHMS } from './automation-oauth.ts'
import type { AutomationOauth } from './automation-oauth.ts'

/** The largest clock skew that an organization can allow. */
export const SKEW_SECONDS_MAX = 120
/** The range of the longest lifetime of a token. */
export const LIFETIME_SECONDS = { min: 60, max: 2_592_000 } as const
const AUDIENCES_MAX = 20
/** The longest address, in characters. */
export const URL_LENGTH_MAX = 2000

/** Returns the settings before any are saved: the audience is the base URL (SPEC 5.2.1). */
export const usualAutomationOauth = (baseUrl: string): AutomationOauth => ({
  enabled: false,
  issuer: '',
  discoveryUrl: null,
  jwksUrl: null,
  tokenUrl: null,
  audiences: [baseUrl],
  absentAudienceAllowed: false,
  scope: 'platform_automations',
  scopeClaim: 'scope',
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  skewSeconds: 30,
  lifetimeSecondsMax: 86_400,
  staticTokensAllowed: true,
})

/**
 * Returns settings as they are kept. `http://` is allowed for the origins that the operator lists.
 * Raises `unprocessable` with every problem.
 */
export function readAutomationOauth(
  given: AutomationOauth,
  privateOrigins: readonly string[],
): AutomationOauth {
  const settings = {
    ...given,
    discoveryUrl: given.discoveryUrl || null,
    jwksUrl: given.jwksUrl || null,
    tokenUrl: given.tokenUrl || null,
    audiences: given.audiences.map((each) => each.trim()).filter(Boolean),
    algorithms: ALGORITHMS.filter((each) => given.algorithms.includes(each)),
  }
  const problems = problemsOf(settings, privateOrigins).filter(Boolean)
  if (problems.length === 0) return settings
  throw new AppError('unprocessable', problems.join(' '), { details: { problems } })
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

function rangeProblem(
  name: string,
  value: number,
  { min, max }: { min: number; max: number },
): string {
  return value >= min && value <= max ? '' : `${name}: enter a number between ${min} and ${max}.`
}

/** Returns what is wrong with an address of an issuer; empty if nothing is. */
export function urlProblem(name: string, text: string, privateOrigins: readonly string[]): string {
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
