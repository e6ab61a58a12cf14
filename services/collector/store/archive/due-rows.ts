import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { isDistributed } from '../spans/distribution.ts'
import { dayOf } from '../spans/partitions.ts'
import type { Day } from '../spans/partitions.ts'
import { listPartitions } from '../spans/retention.ts'
import { forgetBegun } from './archive-state.ts'
import { dateOf } from './day-rows.ts'
import type { DayRows } from './day-rows.ts'

const DAY_MS = 86_400_000
/** Days after the last span that is taken: some may still be queued, and clocks differ. */
const GRACE_DAYS = 1

/**
 * The spans that are due, the oldest first: days of which no more spans are taken and all notes are
 * worked off, and of younger ones what organizations have whose days are archived sooner. Raises
 * `invalid_configuration` where days cannot be archived.
 */
export async function listDue(sql: Database): Promise<DayRows[]> {
  const hotDays = await readHotDays(sql)
  const sooner = await sql<{ organization: string; days: number }[]>`
    select organization, days from organization_hot_days order by organization`
  await forgetBegun(
    sql,
    sooner.map(({ organization }) => organization),
  )
  const [clock] = await sql<{ ms: number }[]>`select extract(epoch from now())::float8 * 1000 as ms`
  const today = clock?.ms ?? 0
  const isDue = (day: Day, days: number): boolean => day < dayOf(today - days * DAY_MS) - GRACE_DAYS
  const dropped = new Set((await listDropped(sql)).map(keyOf))
  const noted = new Set((await listNoted(sql)).map(keyOf))
  const due: DayRows[] = []
  for (const { day, state } of await listPartitions(sql)) {
    const date = dateOf(day)
    const has = (set: ReadonlySet<string>, organization: string | null): boolean =>
      set.has(keyOf({ day: date, organization }))
    if (state !== 'attached' || has(dropped, null)) continue
    if (isDue(day, hotDays)) {
      const organizations = [...dropped].flatMap((key) => organizationIn(key, date) ?? [])
      if (![...noted].some((key) => key.startsWith(date)))
        due.push({ day, organizations, isRest: true })
      continue
    }
    const organizations = sooner
      .filter(({ days }) => isDue(day, days) && !has(noted, null))
      .map(({ organization }) => organization)
      .filter((one) => !has(dropped, one) && !has(noted, one))
    if (organizations.length > 0) due.push({ day, organizations, isRest: false })
  }
  return due
}

/** A day, or what an organization has of it. */
interface Part {
  readonly day: string
  readonly organization: string | null
}

const keyOf = ({ day, organization }: Part): string =>
  organization === null ? day : `${day} ${organization}`

const organizationIn = (key: string, date: string): string | undefined =>
  key.startsWith(`${date} `) ? key.slice(date.length + 1) : undefined

const listDropped = (sql: Database): Promise<Part[]> => sql<Part[]>`
  select day::text, null as organization from archived_days where state = 'dropped'
  union all
  select day::text, organization from archived_parts where state = 'dropped'`

const listNoted = (sql: Database): Promise<Part[]> => sql<Part[]>`
  select day::text, organization from touched_traces
  union select day::text, organization from traces_to_extract
  union select day::text, null from days_to_roll_up`

/** The days that the collectors take spans of, as they have written them down. */
async function readHotDays(sql: Database): Promise<number> {
  if (await isDistributed(sql)) {
    const message =
      'Days whose spans are on the nodes of Citus cannot be archived. Unset COLLECTOR_HOT_DAYS.'
    throw new AppError('invalid_configuration', message)
  }
  const [row] = await sql<{ hotDays: number | null }[]>`select hot_days from retention`
  if (typeof row?.hotDays === 'number') return row.hotDays
  const message = 'No days are archived: start the collector with COLLECTOR_HOT_DAYS first.'
  throw new AppError('invalid_configuration', message)
}
