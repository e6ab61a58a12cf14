import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import { isOrganizationName } from '../../../shared/organization-name.ts'

const DAY_MS = 86_400_000
const MAX_ORGANIZATIONS = 1000
const MAX_DAYS = 36_500

/**
 * Days by organization, such as those for which its spans are kept, where that is not as long as
 * others are; an empty name stands for the platform's own.
 */
export type DaysByOrganization = ReadonlyMap<string, number>

const EXAMPLE = '{"7":"30","":"14"}'

const daysByNames = v.record(
  v.pipe(
    v.string(),
    v.check((name) => name === '' || isOrganizationName(name)),
  ),
  v.pipe(
    v.union([v.pipe(v.string(), v.regex(/^\d{1,5}$/), v.transform(Number)), v.number()]),
    v.integer(),
    v.minValue(1),
    v.maxValue(MAX_DAYS),
  ),
)

/** A JSON object of days by organization. */
export const daysByOrganization = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): DaysByOrganization => {
    const given = parse(dataset.value)
    const result = v.safeParse(daysByNames, Array.isArray(given) ? undefined : given)
    const entries = result.success ? Object.entries(result.output) : []
    if (result.success && entries.length <= MAX_ORGANIZATIONS) return new Map(entries)
    addIssue({
      message:
        `must be a JSON object of days, from 1 on, by organization, such as ${EXAMPLE}, with ` +
        `${MAX_ORGANIZATIONS} organizations at the most`,
    })
    return NEVER
  }),
)

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

interface DaysOfAll {
  /** The variable of the days. */
  readonly name: string
  readonly most: number
  /** The variable that has the days of all. */
  readonly ofAll: string
}

/** Raises `invalid_configuration` for an organization that would have more days than all have. */
export function requireFewer(
  byOrganization: DaysByOrganization,
  { name, most, ofAll }: DaysOfAll,
): void {
  const more = [...byOrganization].filter(([, days]) => days > most)
  if (more.length === 0) return
  const given = JSON.stringify(Object.fromEntries(more))
  throw new AppError(
    'invalid_configuration',
    `${name} cannot keep spans of an organization for longer than ${ofAll} keeps those of all, ` +
      `which is ${most} days (given: ${given}). Take fewer days, or raise ${ofAll}.`,
  )
}

/**
 * The time, in milliseconds since 1970, that is so many days ago; undefined for an organization
 * without days of its own.
 */
export function organizationCutoff(
  byOrganization: DaysByOrganization,
  organization: string,
  now: number,
): number | undefined {
  const days = byOrganization.get(organization)
  return days === undefined ? undefined : now - days * DAY_MS
}
