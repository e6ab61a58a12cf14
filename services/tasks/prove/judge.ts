import type { DatabaseName } from '../backup/archive.ts'
import type {
  HeldLock,
  Limits,
  Loss,
  MigrationFigures,
  Reason,
  TableFigures,
  TableUse,
} from './figures.ts'

/** What was measured of a database. */
interface Measured {
  readonly database: DatabaseName
  readonly use: readonly TableUse[]
  readonly migrations: readonly MigrationFigures[]
  readonly tables: readonly TableFigures[]
  readonly pending: number
}

/** Lists the reasons against an upgrade, in words; none: it is proven. */
export function judge({ database, ...given }: Measured, limits: Limits): Reason[] {
  const of = (migration: string | null) => (found: Finding) => ({ database, migration, ...found })
  const ms = given.migrations.reduce((sum, migration) => sum + migration.ms, 0)
  const isOver = ms > limits.minutes * 60_000
  return [
    ...given.migrations.flatMap((migration) => [
      ...failed(migration, given.pending - given.migrations.length).map(of(migration.name)),
      ...locked(migration, given.use, limits).map(of(migration.name)),
      ...(migration.isContract ? [] : migration.losses.map(lost)).map(of(migration.name)),
    ]),
    ...changedRows(given).map(of(null)),
    ...(isOver ? [late(ms, limits)] : []).map(of(null)),
  ]
}

type Finding = Pick<Reason, 'kind' | 'table' | 'text'>

function failed({ failure }: MigrationFigures, untried: number): Finding[] {
  if (failure === null) return []
  const rest = untried > 0 ? ` ${untried} more after it were not tried.` : ''
  return [{ kind: 'failed', table: null, text: `It fails on these data: ${failure}.${rest}` }]
}

const late = (ms: number, { minutes }: Limits): Finding => ({
  kind: 'time',
  table: null,
  text: `The migrations took ${seconds(ms)}; ${minutes} minutes are allowed (--minutes).`,
})

function locked(
  { locks }: MigrationFigures,
  use: readonly TableUse[],
  { lockMs, observeSeconds }: Limits,
): Finding[] {
  const tooLong = locks.filter(({ heldMs, waiting }) => heldMs > lockMs && waiting.length > 0)
  return strongestOf(tooLong).map(({ table, mode, heldMs, waiting }) => {
    const used = use.find((each) => each.table === table)
    const text =
      `${mode} on ${table} is held for ${seconds(heldMs)}, in which ${waiting.join(', ')} wait ` +
      `for it; ${seconds(lockMs)} are allowed (--lock-ms). In ${observeSeconds} s the table was ` +
      `read ${used?.scans} times, ${used?.writes} rows of it were written, and ` +
      `${(used?.readers ?? 0) + (used?.writers ?? 0)} statements or open transactions held it.`
    return { kind: 'lock', table, text }
  })
}

/** Lists the strongest lock of each table, of locks that are in the order of their strength. */
export const strongestOf = (locks: readonly HeldLock[]): HeldLock[] =>
  locks.filter(({ table }, index) => locks.findIndex((other) => other.table === table) === index)

function lost({ table, kind, column, before, after }: Loss): Finding {
  const what = {
    lost_table: `The table ${table} is no longer there`,
    lost_column: `The column ${column} of ${table} is no longer there`,
    changed_type: `The column ${column} of ${table} changes its type from ${before} to ${after}`,
  }
  const why = ', which the programs that still run may use, and the migration has no "-- contract".'
  return { kind, table, text: `${what[kind]}${why}` }
}

/** Rows that are others now, or gone, though no migration says that it changes them. */
function changedRows({ migrations, tables }: Omit<Measured, 'database'>): Finding[] {
  return tables.flatMap(({ table, parent, rowsBefore, rowsAfter, before, after }): Finding[] => {
    if (rowsAfter === null || before === after) return []
    const says = ({ changesRowsOf }: Pick<MigrationFigures, 'changesRowsOf'>): boolean =>
      changesRowsOf.includes(parent ?? table)
    const touching = migrations.flatMap(({ changes, ...migration }) =>
      changes.filter((each) => each.table === table).map((change) => ({ ...migration, ...change })),
    )
    const sum = (kind: 'inserted' | 'updated' | 'deleted'): number =>
      touching.reduce((total, change) => total + change[kind], 0)
    const isRewritten = touching.some((change) => change.isRewritten)
    const isOnlyLonger =
      sum('updated') + sum('deleted') === 0 &&
      !isRewritten &&
      rowsAfter === rowsBefore + sum('inserted')
    // One that only updates may have filled a column that is not compared.
    const isSaid =
      migrations.some(says) &&
      touching.filter((change) => change.deleted > 0 || change.isRewritten).every(says)
    if (isOnlyLonger || isSaid) return []
    const how = isRewritten ? ', and it was written anew or emptied' : ''
    const who = touching.map(({ name }) => name).join(', ') || 'a migration that made it anew'
    const text =
      `Rows of ${table} are others than before: it had ${rowsBefore} and has ${rowsAfter}; ` +
      `${sum('updated')} were updated, ${sum('deleted')} deleted and ${sum('inserted')} ` +
      `inserted${how}, by ${who}, without "-- changes rows of ${parent ?? table}: WHY".`
    return [{ kind: 'rows', table, text }]
  })
}

/** A time for people. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
