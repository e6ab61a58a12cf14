import { connectDatabase } from '../../../shared/postgres/database.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { openCopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { identifyWholeRows } from './distribution.ts'

/** Days since 1970 in UTC: each is one partition of `spans`. */
export type Day = number

const DAY_MS = 86_400_000
/**
 * Any two numbers: all replicas take the same locks. To drop may take long, and must not hold up
 * creating.
 */
const CREATE_LOCK = 7_310_452_118
const DROP_LOCK = 7_310_452_119
/** Days created before they are needed: more than one missed hourly run, and clocks that differ. */
const DAYS_AHEAD = 3

/** The day of a time in milliseconds since 1970. */
export const dayOf = (ms: number): Day => Math.floor(ms / DAY_MS)
/** The beginning of a day, in ISO 8601. */
export const startOfDay = (day: Day): string => new Date(day * DAY_MS).toISOString()

/** `spans_20261121` */
export const partitionName = (day: Day): string =>
  `spans_${startOfDay(day).slice(0, 10).replaceAll('-', '')}`

/** The day of a partition, by its name; undefined for other tables. */
export function partitionDay(name: string, table = 'spans'): Day | undefined {
  const date = name.startsWith(`${table}_`) ? name.slice(table.length + 1) : ''
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(date) ?? []
  return year ? dayOf(Date.UTC(Number(year), Number(month) - 1, Number(day))) : undefined
}

/** The partitions of the days, as far as this process knows them. */
export interface Partitions {
  /** Creates the partitions of these days that do not exist. */
  ensure(session: Session, days: Iterable<Day>): Promise<void>
  /** Creates those of the next days. */
  ensureAhead(session: Session): Promise<void>
  /** Forgets which exist, after the database said that one is missing. */
  forget(): void
}

/** The clock of the days, and where they are created. */
interface PartitionsOptions {
  readonly log: Log
  readonly now: () => number
  /** Of Citus, when the sessions are with other nodes, which may not create tables. */
  readonly coordinator?: DatabaseAddress | undefined
}

/**
 * The daily partitions. There is no default partition: the database could then not detach one while
 * spans arrive. Late spans get the partition of their day when they come.
 */
export function createPartitions({ log, now, coordinator }: PartitionsOptions): Partitions {
  const known = new Set<Day>()
  const create = (session: Session, day: Day): Promise<boolean> =>
    coordinator === undefined
      ? createPartition(session, day)
      : createAt(coordinator, (there) => createPartition(there, day))
  const ensure = async (session: Session, days: Iterable<Day>): Promise<void> => {
    for (const day of [...days].sort((a, b) => a - b)) {
      if (known.has(day)) continue
      const created = await create(session, day)
      if (created) log.info({ partition: partitionName(day) }, 'partition created')
      known.add(day)
    }
  }
  return {
    ensure,
    ensureAhead(session) {
      const today = dayOf(now())
      return ensure(
        session,
        Array.from({ length: DAYS_AHEAD + 2 }, (_, i) => today - 1 + i),
      )
    },
    forget: () => known.clear(),
  }
}

async function createAt(
  coordinator: DatabaseAddress,
  create: (session: Session) => Promise<boolean>,
): Promise<boolean> {
  const session = await openCopyConnection(coordinator, { name: 'collector-writer' })
  try {
    return await create(session)
  } finally {
    session.close()
  }
}

/**
 * Creates the table first and attaches it then: unlike `create table … partition of`, that does not
 * wait for the readers of the parent, and no one waits behind it. False when the partition was
 * there.
 */
async function createPartition(session: Session, day: Day): Promise<boolean> {
  const name = partitionName(day)
  try {
    await session.query(`
      begin; set local lock_timeout = '2s';
      select pg_advisory_xact_lock(${CREATE_LOCK})`)
    const found = await session.query(`
      select from pg_inherits
      where inhparent = 'spans'::regclass and inhrelid = to_regclass('${name}')`)
    if (found === 'SELECT 0') {
      const [row] = await session.rows(`
        select is_distributed(), to_regclass('${name}') is not null`)
      // One that someone has detached is taken back with its rows.
      if (row?.[1] === 'f') {
        // One by one: Citus sends each to its other nodes by itself.
        await session.query(createStatement(name))
        await session.query(indexStatement(name))
      }
      if (row?.[0] === 't') await session.query(identifyWholeRows(name))
      await session.query(attachStatement(name, day))
    }
    const outcome = await session.query('commit')
    if (outcome !== 'COMMIT') throw new AppError('unavailable', `The server answered ${outcome}.`)
    return found === 'SELECT 0'
  } catch (error) {
    if (session.isOpen()) await session.query('rollback')
    throw error
  }
}

const createStatement = (name: string): string => `
  create table ${name} (like spans including storage including compression including constraints)`

/**
 * The key comes first, and the index on the trace id with the attachment: of two that cost the same
 * the planner takes the younger one, and a plan that was made while the day was empty would go
 * through all of it by the key for each trace.
 */
const indexStatement = (name: string): string =>
  `create unique index on ${name} (start_time, trace_id, span_id, organization)`

const attachStatement = (name: string, day: Day): string => `
  alter table spans attach partition ${name}
    for values from ('${startOfDay(day)}') to ('${startOfDay(day + 1)}')`

/**
 * Runs the work on a session of its own while no other replica drops partitions; undefined when one
 * does.
 */
export async function withDropLock<Result>(
  address: DatabaseAddress,
  work: (session: Database) => Promise<Result>,
): Promise<Result | undefined> {
  // Not one reserved in a pool: postgres.js would wait for ever for one that it has to open first.
  const session = connectDatabase(address, { name: 'collector-retention', max: 1 })
  try {
    const [row] = await session`select pg_try_advisory_lock(${DROP_LOCK}) as locked`
    return row?.['locked'] === true ? await work(session) : undefined
  } finally {
    // The lock goes with the session.
    await session.end({ timeout: 1 })
  }
}
