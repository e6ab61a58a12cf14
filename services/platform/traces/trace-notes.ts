import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { User } from '../people/users.ts'

/** What people can find a trace to be. */
export const RATINGS = ['good', 'bad'] as const
/** A word of `RATINGS`. */
export type Rating = (typeof RATINGS)[number]

/** What somebody says of a trace: a rating, a note or both. */
export interface TraceNote {
  readonly id: number
  /** null: somebody who is no longer there. */
  readonly authorId: number | null
  readonly author: string | null
  readonly rating: Rating | null
  readonly note: string
  readonly createdAt: Date
}

/** The longest note, in characters. */
export const TRACE_NOTE_MAX = 4000
/** The most notes of one trace. */
export const TRACE_NOTES_MAX = 100

/** A trace of an organization, by its id of 32 hexadecimal digits. */
interface TraceKey {
  readonly organizationId: number
  readonly traceId: string
}

const NUMBERS = { good: 1, bad: -1 } as const

/** Returns the notes of a trace, the earliest first. */
export async function listTraceNotes(sql: Queryable, trace: TraceKey): Promise<TraceNote[]> {
  const { organizationId, traceId } = trace
  return sql<TraceNote[]>`
    select trace_notes.id::float8 as id, author_id, users.name as author, note,
      trace_notes.created_at, case rating when 1 then 'good' when -1 then 'bad' end as rating
    from trace_notes left join users on users.id = author_id
    where trace_notes.organization_id = ${organizationId} and trace_id = ${traceId}::uuid
    order by trace_notes.id limit ${TRACE_NOTES_MAX}`
}

/** Adds a note. Returns false when the trace has as many as it may have. */
export async function addTraceNote(
  sql: Queryable,
  { organizationId, traceId }: TraceKey,
  { authorId, rating, note }: Pick<TraceNote, 'authorId' | 'rating' | 'note'>,
): Promise<boolean> {
  const added = await sql`
    insert into trace_notes (organization_id, trace_id, author_id, rating, note)
    select ${organizationId}, ${traceId}::uuid, ${authorId}, ${rating && NUMBERS[rating]}, ${note}
    where (
      select count(*) from trace_notes
      where organization_id = ${organizationId} and trace_id = ${traceId}::uuid
    ) < ${TRACE_NOTES_MAX}
    returning id`
  return added.length > 0
}

/**
 * Deletes a note of this person. Returns false when there is no such one. Raises `conflict` for a
 * trace that a hold keeps.
 */
export async function deleteTraceNote(
  sql: Queryable,
  { id: authorId, organizationId }: Pick<User, 'id' | 'organizationId'>,
  id: number,
): Promise<boolean> {
  const isOwn = sql`
    id = ${id} and author_id = ${authorId} and organization_id = ${organizationId}`
  const deleted = await sql`
    delete from trace_notes where ${isOwn} and not is_held(organization_id, trace_id)
    returning id`
  if (deleted.length > 0) return true
  const kept = await sql`select from trace_notes where ${isOwn}`
  if (kept.length === 0) return false
  throw new AppError('conflict', 'A legal hold keeps the trace and its notes until it is lifted.')
}

/** How often a trace was found good and bad, and how many notes have words. */
export interface TraceOpinions {
  readonly traceId: string
  readonly good: number
  readonly bad: number
  readonly notes: number
}

/** Returns what people say of these traces, by their ids; those without a note are not in it. */
export async function countTraceNotes(
  sql: Queryable,
  organizationId: number,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, TraceOpinions>> {
  const rows = await sql<TraceOpinions[]>`
    select replace(trace_id::text, '-', '') as trace_id,
      (count(*) filter (where rating = 1))::int as good,
      (count(*) filter (where rating = -1))::int as bad,
      (count(*) filter (where note <> ''))::int as notes
    from trace_notes
    where organization_id = ${organizationId} and trace_id = any (${traceIds}::text[]::uuid[])
    group by trace_id`
  return new Map(rows.map((row) => [row.traceId, row]))
}

/** Returns the ids of the traces that got such a rating last, or any note, at most so many. */
export async function listNotedTraces(
  sql: Queryable,
  organizationId: number,
  { rating, limit }: { readonly rating: Rating | undefined; readonly limit: number },
): Promise<string[]> {
  const rows = await sql<{ traceId: string }[]>`
    select replace(trace_id::text, '-', '') as trace_id
    from trace_notes
    where organization_id = ${organizationId}
      ${rating ? sql`and rating = ${NUMBERS[rating]}` : sql``}
    group by trace_id order by max(id) desc limit ${limit}`
  return rows.map(({ traceId }) => traceId)
}
