import type { Queryable } from '../../shared/postgres/database.ts'
import { countAutomations, pageOfAutomations } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import type { RunStatus } from './runs.ts'
import { toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** An automation with what it did of late. */
export interface AutomationActivity extends Pick<
  Automation,
  'automationId' | 'name' | 'slug' | 'status' | 'statusReason'
> {
  readonly runsLastWeek: number
  readonly lastStatus: RunStatus | null
  readonly lastQueuedAt: Date | null
}

/**
 * The automations of an organization by name, each with its last run and the runs of the last seven
 * days.
 */
export async function listAutomationActivity(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<AutomationActivity>> {
  const [rows, total] = await Promise.all([
    sql<AutomationActivity[]>`
      select d.automation_id, d.name, d.slug, d.status, d.status_reason,
        (select count(*)::int from executions e
          where e.deployment_id = d.id
            and e.queued_at > now() - interval '7 days') as runs_last_week,
        newest.status as last_status, newest.queued_at as last_queued_at
      from (${pageOfAutomations(sql, organizationId, page)}) d left join lateral (
        select status, queued_at from executions e
        where e.deployment_id = d.id order by queued_at desc limit 1) newest on true
      order by d.place`,
    countAutomations(sql, organizationId, page.search),
  ])
  return toPage(rows, page, { total, cursorOf: ({ automationId }) => automationId })
}

/** How far back the runs of an organization are counted, and in which steps. */
export const ACTIVITY_RANGES = {
  '24h': { step: '1 hour', steps: 24 },
  '7d': { step: '6 hours', steps: 28 },
  '30d': { step: '1 day', steps: 30 },
} as const
/** How far back the runs of an organization are counted. */
export type ActivityRange = keyof typeof ACTIVITY_RANGES

/** The runs that were started in one step of a range. */
export interface RunsOfStep {
  /** Its beginning; steps begin at whole hours and days of UTC. */
  readonly from: Date
  readonly completed: number
  readonly failed: number
  /** Queued or running. */
  readonly open: number
}

/**
 * The runs that an organization, or one automation of it, started in each step of a range, oldest
 * first; the current step is the last.
 */
export async function countRunsByStep(
  sql: Queryable,
  { organizationId, deploymentId }: { organizationId: number; deploymentId?: number },
  range: ActivityRange,
): Promise<RunsOfStep[]> {
  const { step, steps } = ACTIVITY_RANGES[range]
  return sql<RunsOfStep[]>`
    with newest as (
      select date_bin(${step}::interval, now(), '2000-01-01 00:00:00+00'::timestamptz) as at)
    select s.at as from,
      count(e.id) filter (where e.status = 'completed')::int as completed,
      count(e.id) filter (where e.status in ('error', 'stopped'))::int as failed,
      count(e.id) filter (where e.status in ('queued', 'running', 'waiting'))::int as open
    from newest, generate_series(
        newest.at - ${step}::interval * ${steps - 1}::int, newest.at, ${step}::interval) s (at)
      left join executions e on e.organization_id = ${organizationId}
        ${deploymentId === undefined ? sql`` : sql`and e.deployment_id = ${deploymentId}`}
        and e.queued_at >= s.at and e.queued_at < s.at + ${step}::interval
    group by s.at order by s.at`
}
