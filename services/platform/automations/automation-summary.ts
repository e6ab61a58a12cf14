import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from './automations.ts'

/** The newest runs of the last seven days that a summary looks at. */
const SUMMARIZED_MAX = 500

/** How an automation does, what starts it, and what hears of it. */
export interface AutomationSummary {
  /** Runs that ended, of the newest ones of the last seven days. */
  readonly ended: number
  readonly failed: number
  /** In seconds, of those that were completed; null: none was. */
  readonly medianSeconds: number | null
  readonly slowSeconds: number | null
  /** The mean of those that ended; null: none did. */
  readonly tokens: number | null
  /** The version that runs; null: it has none of a number. */
  readonly version: number | null
  /** The version that takes a share of the calls. */
  readonly sharedVersion: number | null
  readonly percent: number | null
  readonly schedules: number
  /** When the next schedule starts a run. */
  readonly nextAt: Date | null
  readonly triggers: number
  readonly webhooks: number
}

/** Sums up the runs of an automation, and what is set up for it. */
export async function summarizeAutomation(
  sql: Queryable,
  { id }: Pick<Automation, 'id'>,
): Promise<AutomationSummary> {
  const [summary] = await sql<[AutomationSummary]>`
    select runs.*, v.number as version, shared.number as shared_version, r.share as percent,
      (select count(*)::int from schedules where deployment_id = d.id and paused_at is null)
        as schedules,
      (select min(next_at) from schedules where deployment_id = d.id) as next_at,
      (select count(*)::int from triggers where deployment_id = d.id and paused_at is null)
        as triggers,
      (select count(*)::int from webhooks
        where deployment_id = d.id and paused_at is null and run_id is null) as webhooks
    from deployments d
      left join project_versions v on v.id = d.project_version_id
      left join releases r on r.project_id = v.project_id
      left join project_versions shared on shared.id = r.version_id
      cross join lateral (
        select count(*) filter (where status in ('completed', 'error'))::int as ended,
          count(*) filter (where status = 'error')::int as failed,
          percentile_cont(0.5) within group (order by seconds) as median_seconds,
          percentile_cont(0.95) within group (order by seconds) as slow_seconds,
          avg((usage ->> 'inputTokens')::int + (usage ->> 'outputTokens')::int)::float8 as tokens
        from (
          select status, usage, case when status = 'completed'
            then extract(epoch from finished_at - started_at)::float8 end as seconds
          from executions
          where deployment_id = d.id and queued_at > now() - interval '7 days'
          order by queued_at desc limit ${SUMMARIZED_MAX}) newest) runs
    where d.id = ${id}`
  return summary
}
