import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** The most addresses that get a mail. */
export const ROLLBACK_MAIL_MAX = 20

/** When the share of a version is taken back without a person: it is worse by more than this. */
export interface RollbackRule {
  /** Percentage points of failed runs; null: failures are not compared. */
  readonly failurePoints: number | null
  /** Percent of the cost of a typical run; null: costs are not compared. */
  readonly costPercent: number | null
  /** Percentage points of runs that people rate as bad; null: ratings are not compared. */
  readonly ratingPoints: number | null
  /** Percentage points of runs whose checks fail; null: scores are not compared. */
  readonly scorePoints: number | null
  /** Of 100 versions that are not, so many at the most are taken back, all measures together. */
  readonly errorPercent: number
  /** Addresses of members. */
  readonly mail: readonly string[]
}

/** The rule of a version for which none is chosen. */
export const DEFAULT_ROLLBACK: RollbackRule = {
  failurePoints: 5,
  costPercent: 25,
  ratingPoints: 10,
  scorePoints: null,
  errorPercent: 1,
  mail: [],
}

/** The rule of a release `r`: one that was kept by programs of before compares no scores. */
export const rollbackOf = (sql: Queryable) => sql`'{"scorePoints": null}'::jsonb || r.rollback`

/** Returns a rule as it is kept. Raises `unprocessable`. */
export async function readRollbackRule(
  sql: Queryable,
  organizationId: number,
  rule: RollbackRule,
): Promise<RollbackRule> {
  const { failurePoints, costPercent, ratingPoints, scorePoints } = rule
  const margins = [failurePoints, costPercent, ratingPoints, scorePoints]
  const mail = [...new Set(rule.mail.map((address) => address.toLowerCase()))]
  const [stranger] = await sql<{ email: string }[]>`
    select email from unnest(${mail}::text[]) as email
    where email not in (
      select u.email from users u join memberships m on m.user_id = u.id
      where m.organization_id = ${organizationId}) limit 1`
  const problem = stranger
    ? `"${stranger.email.slice(0, 100)}" is not the address of a member of your organization.`
    : margins.every((margin) => margin === null)
      ? 'A share that is taken back without a person needs a margin for failures, costs, ratings ' +
        'or scores.'
      : undefined
  if (problem !== undefined) throw new AppError('unprocessable', problem)
  return { ...rule, mail }
}
