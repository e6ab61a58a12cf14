import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import type { Check } from './checks.ts'

/** Which runs of an automation are judged. */
export interface ScoreRule {
  /** Of 100 runs that complete, so many wait for a person to rate them. */
  readonly reviewedShare: number
  /** Of 100 runs that complete, so many are scored by the checks. */
  readonly scoredShare: number
  readonly checks: readonly Check[]
}

const NONE: ScoreRule = { reviewedShare: 0, scoredShare: 0, checks: [] }

/** Returns the rule of an automation; without one, no run is judged. */
export async function getScoreRule(sql: Queryable, deploymentId: number): Promise<ScoreRule> {
  const [found] = await sql<ScoreRule[]>`
    select reviewed_share, scored_share, checks from score_rules
    where deployment_id = ${deploymentId}`
  return found ?? NONE
}

/** Keeps the rule of an automation. Checks that begin to score do so with what ends from now on. */
export async function saveScoreRule(
  sql: Queryable,
  { id, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  { reviewedShare, scoredShare, checks }: ScoreRule,
): Promise<void> {
  await sql`
    insert into score_rules as r (
      deployment_id, organization_id, reviewed_share, scored_share, checks)
    values (${id}, ${organizationId}, ${reviewedShare}, ${scoredShare},
      ${JSON.stringify(checks)}::text::jsonb)
    on conflict (deployment_id) do update set reviewed_share = excluded.reviewed_share,
      scored_share = excluded.scored_share, checks = excluded.checks,
      scored_since = case when r.scored_share = 0 then now() else r.scored_since end`
}

/** The condition under which a run is one of such a share: the same runs each time. */
export const isOfShare = (
  sql: Queryable,
  runId: ReturnType<Queryable>,
  share: number | ReturnType<Queryable>,
) => sql`(hashtextextended((${runId})::text, 0) & 2147483647) % 100 < ${share}`
