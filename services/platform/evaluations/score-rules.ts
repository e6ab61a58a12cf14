import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'

/** Which runs of an automation are judged. */
export interface ScoreRule {
  /** Of 100 runs that complete, so many wait for a person to rate them. */
  readonly reviewedShare: number
}

/** Returns the rule of an automation; without one, no run is judged. */
export async function getScoreRule(sql: Queryable, deploymentId: number): Promise<ScoreRule> {
  const [found] = await sql<ScoreRule[]>`
    select reviewed_share from score_rules where deployment_id = ${deploymentId}`
  return found ?? { reviewedShare: 0 }
}

/** Keeps the rule of an automation. */
export async function saveScoreRule(
  sql: Queryable,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  rule: ScoreRule,
): Promise<void> {
  await sql`
    insert into score_rules ${sql({ deploymentId, organizationId, ...rule })}
    on conflict (deployment_id) do update set reviewed_share = excluded.reviewed_share`
}

/** The condition under which a run is one of such a share: the same runs each time. */
export const isOfShare = (sql: Queryable, runId: ReturnType<Queryable>, share: number) => sql`
  (hashtextextended((${runId})::text, 0) & 2147483647) % 100 < ${share}`
