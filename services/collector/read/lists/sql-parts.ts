import type { Queryable } from '../../../shared/postgres/database.ts'

/** A part of a statement. */
export type Fragment = ReturnType<Queryable>

/** A time in SQL: postgres.js would send a Date to the millisecond, and in its own way. */
export const timestamp = (sql: Queryable, time: Date): Fragment =>
  sql`${time.toISOString()}::text::timestamptz`

/** A time in milliseconds since 1970 that the planner knows when it looks for the days to read. */
export const writtenOut = (sql: Queryable, ms: number): Fragment =>
  sql`${sql.unsafe(`'${new Date(ms).toISOString()}'::timestamptz`)}`
