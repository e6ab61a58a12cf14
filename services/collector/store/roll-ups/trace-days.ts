import { sqlState } from '../../../shared/postgres/failures.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { COST_COLUMNS, TOKEN_COLUMNS } from './measures.ts'

/** Ranges of the durations of traces within a factor of two: a quantile is right to 5 %. */
export const RANGES_PER_DOUBLING = 16

/** The number of a trace's range, in SQL: that of a millisecond is 0. */
export const DURATION_RANGE = `floor(
  ln(greatest(duration_ns, 1)::float8 / 1000000) * ${RANGES_PER_DOUBLING / Math.LN2}
)::int`

/** Columns of `traces` and `traces_daily` that are counts. */
export const COUNT_COLUMNS: readonly string[] = [
  'spans',
  'error_spans',
  'llm_calls',
  ...TOKEN_COLUMNS,
]

/** By what the sums of a day are kept, beside the day; an empty text stands for none. */
const DAY_KEYS = ['organization', 'crew_id', 'service', 'status'] as const

/** Any number: one collector at a time sums days up. */
export const SUMS_LOCK = 7_310_452_126
/** A day is summed up once its traces have not changed for so long. */
const QUIET_MS = 5000
/** Another transaction has changed the day meanwhile. */
const CHANGED_MEANWHILE = '40001'

/**
 * Sums up the traces of one day that has changed and is quiet now. Returns false when there is
 * none, another collector does it, or the day has changed meanwhile.
 */
export async function sumNextDay(sql: Database, quietMs = QUIET_MS): Promise<boolean> {
  try {
    return await sql.begin('isolation level repeatable read', async (tx) => {
      const [lock] = await tx<{ isMine: boolean }[]>`
        select pg_try_advisory_xact_lock(${SUMS_LOCK}) as is_mine`
      if (!lock?.isMine) return false
      const [next] = await tx<{ day: string }[]>`
        select day::text from trace_days
        where not is_summed and changed_at <= now() - ${quietMs}::float8 * interval '1 ms'
        order by changed_at limit 1`
      if (next) await sumDay(tx, next.day)
      return next !== undefined
    })
  } catch (thrown) {
    if (sqlState(thrown) !== CHANGED_MEANWHILE) throw thrown
    return false
  }
}

/**
 * The mark comes last, and fails when the day has changed since the snapshot. Nobody waits for it
 * longer than a commit takes.
 */
async function sumDay(tx: Transaction, day: string): Promise<void> {
  await tx`delete from traces_daily where day = ${day}::text::date`
  await tx.unsafe(SUM_DAY, [day])
  await tx`update trace_days set is_summed = true where day = ${day}::text::date`
}

const keys = DAY_KEYS.join(', ')
const hours = Array.from({ length: 24 }, (_, hour) => `count(*) filter (where hour = ${hour})`)
const summed = [...COUNT_COLUMNS, ...COST_COLUMNS]

const SUM_DAY = `
  with started as materialized (
    select organization, coalesce(crew_id, '') as crew_id,
      coalesce(left(service, 512), '') as service, status,
      date_part('hour', start_time at time zone 'UTC')::int as hour,
      ${DURATION_RANGE} as range, ${summed.join(', ')}
    from traces
    where start_time >= $1::text::date::timestamp at time zone 'UTC'
      and start_time < ($1::text::date + 1)::timestamp at time zone 'UTC'
  ),
  sums as (
    select ${keys}, count(*) as traces, ${summed.map((one) => `sum(${one}) as ${one}`).join(', ')},
      array[${hours.join(', ')}] as hours
    from started group by ${keys}
  ),
  counted as (
    select ${keys}, range, count(*) as traces from started where range is not null
    group by ${keys}, range
  ),
  durations as (
    select ${keys}, array_agg(range order by range) as ranges,
      array_agg(traces order by range) as counts
    from counted group by ${keys}
  )
  insert into traces_daily (day, ${keys}, traces, ${summed.join(', ')}, hours, ranges, counts)
  select $1::text::date, ${keys}, traces, ${summed.join(', ')}, hours, coalesce(ranges, '{}'),
    coalesce(counts, '{}')
  from sums left join durations using (${keys})`
