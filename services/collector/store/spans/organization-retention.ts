import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import { isOrganizationName } from '../../../shared/organization-name.ts'

const DAY_MS = 86_400_000
const DAYS_OF_A_WEEK = 7
const MAX_ORGANIZATIONS = 1000
const MAX_DAYS = 36_500

/**
 * For how many days spans of an organization are kept, where that is not as long as others are; an
 * empty name stands for the platform's own.
 */
export type OrganizationRetention = ReadonlyMap<string, number>

const EXAMPLE = '{"7":"30","":"14"}'

const daysByName = v.record(
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
export const organizationRetention = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): OrganizationRetention => {
    const given = parse(dataset.value)
    const result = v.safeParse(daysByName, Array.isArray(given) ? undefined : given)
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

/** Raises `invalid_configuration` for an organization that would be kept longer than all are. */
export function requireShorter(retention: OrganizationRetention, weeks: number): void {
  const longest = weeks * DAYS_OF_A_WEEK
  const longer = [...retention].filter(([, days]) => days > longest)
  if (longer.length === 0) return
  const given = JSON.stringify(Object.fromEntries(longer))
  throw new AppError(
    'invalid_configuration',
    'COLLECTOR_ORGANIZATION_RETENTION_DAYS cannot keep spans of an organization for longer ' +
      `than RETENTION_WEEKS keeps those of all, which is ${longest} days (given: ${given}). ` +
      'Take fewer days, or raise RETENTION_WEEKS.',
  )
}

/**
 * The time, in milliseconds since 1970, before which nothing of this organization is kept;
 * undefined for one without a retention of its own.
 */
export function organizationCutoff(
  retention: OrganizationRetention,
  organization: string,
  now: number,
): number | undefined {
  const days = retention.get(organization)
  return days === undefined ? undefined : now - days * DAY_MS
}
