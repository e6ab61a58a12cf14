import { toError } from '../../shared/errors.ts'
import { fillDays } from '../../shared/growth.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { openDisposable } from '../../shared/postgres/disposable-database.ts'
import type { SeenRatios } from './ratios.ts'

const TIMEOUT_MS = 10_000
const [DAY_MS, DAYS_MAX, RUNS_MAX, KEYS_MAX] = [86_400_000, 4000, 10_000, 20]
/** Less than this says nothing about a day with a thousand times as much. */
const ENOUGH = { days: 7, spans: 10_000, runs: 1000 } as const
/** Below this share of a processor most of a database's time is looks that find nothing. */
const BUSY = 0.05

/** Whole days before today, the oldest first. */
interface SeenDays {
  readonly bytes: readonly number[]
  readonly counts: readonly number[]
}

/** What one database says of itself. */
interface SeenDatabase extends SeenDays {
  readonly ratios: SeenRatios
  /** Of the whole database. */
  readonly storedBytes: number
}

/** Says in addition for how many days spans stay in the database. */
export interface SeenTraces extends SeenDatabase {
  readonly keptDays: number | undefined
}

/** A key that ends on a day. */
export interface EndingKey {
  readonly name: string
  readonly ends: Date
}

/** Says in addition which keys end. */
export interface SeenRuns extends SeenDatabase {
  readonly keys: readonly EndingKey[]
}

/** What was seen, or why nothing was. */
export interface Look<Seen> {
  readonly seen?: Seen
  readonly problem?: string
}

/** Reads a database by short statements. Never raises. */
export async function readSeen<Seen>(
  name: string,
  address: DatabaseAddress | undefined,
  read: (sql: Database) => Promise<Seen>,
): Promise<Look<Seen>> {
  if (!address) return { problem: `${name}: its address is not set` }
  const limits = { max: 1, connectTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS }
  const database = openDisposable(address, { name: 'doctor', ...limits })
  try {
    return { seen: await read(database.sql) }
  } catch (thrown) {
    return { problem: `${name}: ${toError(thrown).message}` }
  } finally {
    await database.dispose()
  }
}

interface DayRow {
  /** Since 1970. */
  readonly day: number
  readonly bytes: number
  readonly count: number
}

/** Reads the days of the spans from the catalog: sizes, and the rows that statistics count. */
export async function readTraces(sql: Database): Promise<SeenTraces> {
  const rows = await sql<DayRow[]>`
    select to_date(right(name, 8), 'YYYYMMDD') - date '1970-01-01' as day,
      bytes::float8, greatest(0, c.reltuples)::float8 as count
    from day_sizes() join pg_class c on c.oid = name::regclass
    order by 1 desc limit ${DAYS_MAX}`
  const [row] = await sql<[{ rollUps: number; keptDays: number | null }]>`
    select (pg_total_relation_size('traces') + pg_total_relation_size('usage_hourly')
      + pg_total_relation_size('traces_daily') + coalesce((
        select sum(pg_total_relation_size(inhrelid)) from pg_inherits
        where inhparent in ('text_signatures'::regclass, 'span_texts'::regclass)), 0))::float8
        as roll_ups,
      (select least(weeks * 7, hot_days) from retention) as kept_days`
  const base = await readDatabase(sql, 'spans', rows)
  const bytes = sumOf(rows.map((each) => each.bytes))
  // Roll-ups and the search belong to the spans of all days.
  const factor = bytes > 0 ? 1 + Math.min(1, row.rollUps / bytes) : 1
  const { total, ratios } = base
  const own = total.count < ENOUGH.spans ? {} : { spanBytes: (total.bytes * factor) / total.count }
  return {
    ...base,
    bytes: base.bytes.map((each) => each * factor),
    ratios: { ...own, ...(ratios.seconds ? { spanInPostgres: ratios.seconds } : {}) },
    keptDays: row.keptDays ?? undefined,
  }
}

/** Reads the days of the runs, how long the latest took, and the keys that end. */
export async function readRuns(sql: Database): Promise<SeenRuns> {
  const rows = await sql<(DayRow & { steps: number })[]>`
    select d.day - date '1970-01-01' as day,
      (select count(*) from executions
        where id >= first_run_id(d.day) and id < first_run_id(d.day + 1))::float8 as count,
      parts.bytes::float8, greatest(0, parts.steps)::float8 as steps
    from run_days d cross join lateral (
      select sum(pg_total_relation_size(c.oid)) as bytes,
        max(c.reltuples) filter (where c.relname like 'run\\_steps\\_%') as steps
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where c.relkind = 'r' and c.relname like '%\\_' || to_char(d.day, 'YYYYMMDD')
    ) parts
    order by 1 desc limit ${DAYS_MAX}`
  const base = await readDatabase(sql, 'runs', rows)
  const [row] = await sql<[{ bytes: number; seconds: number | null }]>`
    select coalesce(pg_total_relation_size('executions') / nullif(greatest(0, (
        select reltuples from pg_class where oid = 'executions'::regclass)), 0), 0)::float8
        as bytes,
      -- Of three in four: those that wait for a person for days are in no worker's hand.
      (select percentile_cont(0.75) within group (
          order by extract(epoch from finished_at - started_at))::float8 from (
        select started_at, finished_at from executions
        where finished_at is not null and started_at is not null
        order by finished_at desc limit ${RUNS_MAX}) latest) as seconds`
  const keys = await sql<{ name: string; ends: Date }[]>`
    select * from (
      select 'the token "' || name || '"' as name, expires_at as ends from static_tokens
      where revoked_at is null and expires_at > now()
      union all
      select 'the trace token "' || name || '"', expires_at from trace_tokens
      where revoked_at is null and expires_at > now()
    ) keys order by ends limit ${KEYS_MAX}`
  const { total, ratios } = base
  const steps = sumOf(base.within.map((day) => rows.find((each) => each.day === day)?.steps ?? 0))
  const own = {
    runBytes: total.bytes / total.count + row.bytes,
    ...(steps > 0 ? { runSteps: steps / total.count } : {}),
    ...(row.seconds ? { runSeconds: row.seconds } : {}),
    ...(ratios.seconds ? { runInPostgres: ratios.seconds } : {}),
  }
  return {
    ...base,
    bytes: base.bytes.map((each, at) => each + (base.counts[at] ?? 0) * row.bytes),
    ratios: total.count < ENOUGH.runs ? {} : own,
    keys,
  }
}

async function readDatabase(sql: Database, noun: 'spans' | 'runs', rows: readonly DayRow[]) {
  const [row] = await sql<
    [{ today: number; storedBytes: number; activeSeconds: number; since: Date | null }]
  >`
    select (now() at time zone 'UTC')::date - date '1970-01-01' as today,
      pg_database_size(current_database())::float8 as stored_bytes,
      active_time / 1000 as active_seconds,
      coalesce(stats_reset, (select min(applied_at) from schema_migrations)) as since
    from pg_stat_database where datname = current_database()`
  const whole = rows.filter(({ day }) => day < row.today && day > row.today - DAYS_MAX)
  const days = (field: 'bytes' | 'count'): readonly number[] =>
    fillDays(new Map(whole.map((each) => [each.day, each[field]])), row.today)
  const counted = whole.filter(({ count }) => count > 0)
  const isEnough = counted.length >= ENOUGH.days
  const within = isEnough ? counted.map(({ day }) => day) : []
  const total = {
    bytes: isEnough ? sumOf(counted.map(({ bytes }) => bytes)) : 0,
    count: isEnough ? sumOf(counted.map(({ count }) => count)) : 0,
  }
  // The statistics are of all days since they began: none of these may have been dropped.
  const since = Math.floor((row.since?.getTime() ?? 0) / DAY_MS)
  const isWhole = rows.some(({ day }) => day <= since)
  const spent = isWhole ? sumOf(whole.map(({ day, count }) => (day >= since ? count : 0))) : 0
  const seconds = (row.today - since) * (DAY_MS / 1000)
  const isBusy = spent >= ENOUGH[noun] && isEnough && row.activeSeconds > BUSY * seconds
  return {
    bytes: days('bytes'),
    counts: days('count'),
    storedBytes: row.storedBytes,
    total,
    within,
    ratios: isBusy ? { seconds: row.activeSeconds / spent } : { seconds: 0 },
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)
