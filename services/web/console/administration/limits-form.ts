import * as v from 'valibot'
import { ownLimits } from '../../../platform/people/organization-limits.ts'
import type { OwnLimits } from '../../../platform/people/organization-limits.ts'

/** The fields of the form, by the name on the wire; an empty one is the platform's. */
export type TypedLimits = Readonly<Record<LimitField, string>>

/** The names of the limits. */
export const LIMIT_FIELDS = [
  'token_calls_per_minute',
  'organization_calls_per_minute',
  'queued_runs',
] as const
type LimitField = (typeof LIMIT_FIELDS)[number]

/** What people call the limits. */
export const LIMIT_LABELS: Readonly<Record<LimitField, string>> = {
  token_calls_per_minute: 'Calls in a minute with one token',
  organization_calls_per_minute: 'Calls in a minute with all tokens',
  queued_runs: 'Runs in the queue',
}

/** Returns limits as the form shows them. */
export const typedOf = ({ tokenCalls, organizationCalls, queuedRuns }: OwnLimits): TypedLimits => ({
  token_calls_per_minute: tokenCalls?.toString() ?? '',
  organization_calls_per_minute: organizationCalls?.toString() ?? '',
  queued_runs: queuedRuns?.toString() ?? '',
})

/** Reads the form: the limits, or what is wrong with what was typed. */
export function readLimitsForm(
  form: URLSearchParams,
): { readonly typed: TypedLimits } & ({ readonly limits: OwnLimits } | { problem: string }) {
  const field = (name: LimitField): string => (form.get(name) ?? '').trim().slice(0, 20)
  const typed = {
    token_calls_per_minute: field('token_calls_per_minute'),
    organization_calls_per_minute: field('organization_calls_per_minute'),
    queued_runs: field('queued_runs'),
  }
  const given = Object.entries(typed).map(([name, text]) => [name, numberOf(text)])
  const read = v.safeParse(ownLimits, Object.fromEntries(given))
  if (read.success) return { typed, limits: read.output }
  const problems = read.issues.map((issue) => {
    const name = LIMIT_FIELDS.find((each) => each === v.getDotPath(issue))
    return `${name ? LIMIT_LABELS[name] : 'A limit'} ${issue.message}.`
  })
  return { typed, problem: problems.join(' ') }
}

const numberOf = (text: string): number | null =>
  text === '' ? null : /^\d{1,20}$/.test(text) ? Number(text) : Number.NaN
