import { AppError } from '../../shared/errors.ts'
import { urlProblem } from '../automations/automation-oauth-fields.ts'
import type { WorkloadRuleFields } from './workload-rules.ts'

/** The longest life of a token that a rule issues. */
export const MINUTES_MAX = 15
/** The most claims that a rule asks for. */
export const CLAIMS_MAX = 10
/**
 * The claims that say who a workload is: without one of them, a rule would trust each customer of
 * a public issuer.
 */
export const IDENTIFYING_CLAIMS = [
  'sub',
  'repository',
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'project_path',
  'project_id',
  'namespace_path',
  'namespace_id',
] as const
const NAME = /^(?!\s)[^\p{Cc}\p{Cs}]{1,100}(?<!\s)$/u
const CLAIM = /^[^\p{Cc}\p{Cs}]{1,100}$/u
const VALUE = /^[^\p{Cc}\p{Cs}]{1,500}$/u
/** A beginning of whole parts, more than one word: `repo:*` would be each repository there is. */
const BEGINNING = /^(?![^:/]+:\*$)[^*]*[^:/*][:/]\*$/

/**
 * Returns the fields of a rule as they are stored. `http://` is allowed for the origins that the
 * operator lists. Raises `unprocessable` with every problem.
 */
export function readWorkloadRule(
  given: WorkloadRuleFields,
  privateOrigins: readonly string[],
): WorkloadRuleFields {
  const { name, issuer, jwksUrl, claims, scopes } = given
  const problems = [
    NAME.test(name) ? '' : 'Name: enter 1 to 100 characters, without control characters.',
    urlProblem('Issuer', issuer, privateOrigins),
    /[?#]/.test(issuer) ? 'Issuer: an issuer must have no query and no fragment.' : '',
    jwksUrl === null ? '' : urlProblem('JWKS URL', jwksUrl, privateOrigins),
    ...Object.entries(claims).map(claimProblem),
    IDENTIFYING_CLAIMS.some((claim) => Object.hasOwn(claims, claim))
      ? ''
      : `Claims: say who the workload is by one of ${IDENTIFYING_CLAIMS.join(', ')}. Others at ` +
        'the same issuer could have all the rest.',
  ].filter(Boolean)
  if (problems.length === 0) return { ...given, scopes: [...new Set(scopes)] }
  throw new AppError('unprocessable', problems.join(' '), { details: { problems } })
}

function claimProblem([claim, wanted]: readonly [string, string]): string {
  if (!CLAIM.test(claim)) return 'Claims: a name has 1 to 100 characters.'
  const shown = `Claims: ${claim.slice(0, 100)}`
  if (!VALUE.test(wanted)) return `${shown} must be a text of 1 to 500 characters.`
  if (!wanted.includes('*') || BEGINNING.test(wanted)) return ''
  return (
    `${shown}: an asterisk stands at the end, after a whole part and its : or /, such as ` +
    'repo:acme/site:*. Without those, repo:acme/site* would also be repo:acme/site-of-others; ' +
    'and repo:* would be everybody.'
  )
}

/** Returns true if a claim of a token is the text that a rule asks for, or begins as it does. */
export function isWanted(value: unknown, wanted: string): boolean {
  if (typeof value !== 'string') return false
  if (!wanted.endsWith('*')) return value === wanted
  return value.length >= wanted.length && value.startsWith(wanted.slice(0, -1))
}
