import type { Queryable } from '../shared/postgres/database.ts'
import { countAutomations, pageOfAutomations } from './automations.ts'
import type { Automation } from './automations.ts'
import type { RunStatus } from './runs.ts'
import { toPage } from './paging.ts'
import type { Page, PageRequest } from './paging.ts'

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

/** The runs that were started in one hour. */
export interface HourOfRuns {
  readonly hour: Date
  readonly completed: number
  readonly failed: number
  /** Queued or running. */
  readonly open: number
}

/**
 * The runs that an organization started in each of the last 24 hours, oldest hour first; the
 * current one is the last.
 */
export async function countRunsByHour(
  sql: Queryable,
  organizationId: number,
): Promise<HourOfRuns[]> {
  return sql<HourOfRuns[]>`
    select hour,
      count(e.id) filter (where e.status = 'completed')::int as completed,
      count(e.id) filter (where e.status in ('error', 'stopped'))::int as failed,
      count(e.id) filter (where e.status in ('queued', 'running', 'waiting'))::int as open
    from generate_series(
        date_trunc('hour', now()) - interval '23 hours',
        date_trunc('hour', now()), interval '1 hour') hour
      left join executions e on e.organization_id = ${organizationId}
        and e.queued_at >= hour and e.queued_at < hour + interval '1 hour'
    group by hour order by hour`
}
