import type { Queryable } from '../../shared/postgres/database.ts'

/** The logs of a deployment: of what builds it, and of what it writes while it runs. */
export const LOG_STREAMS = ['build', 'crew'] as const
/** A log of a deployment. */
export type LogStream = (typeof LOG_STREAMS)[number]

/** The most bytes that are kept of one log; the oldest are cut. */
export const LOG_BYTES_MAX = 1024 * 1024
const PIECE_BYTES_MAX = 65_536
/** Cutting reads the whole log, so it is done once in so many pieces. */
const CUT_EVERY = 16

interface LogKey {
  readonly crewDeploymentId: number
  readonly stream: LogStream
}

/**
 * Appends lines to a log, and cuts its oldest ones where it grows beyond `LOG_BYTES_MAX`. There is
 * one writer at a time. Write many lines at once: each call is a row at least.
 */
export async function appendCrewLog(
  sql: Queryable,
  { crewDeploymentId, stream }: LogKey,
  text: string,
): Promise<void> {
  for (const piece of piecesOf(text)) {
    const [{ position }] = await sql<[{ position: number }]>`
      insert into crew_deployment_logs (crew_deployment_id, stream, position, text)
      select ${crewDeploymentId}, ${stream}, coalesce(max(position) + 1, 0), ${piece}
      from crew_deployment_logs
      where crew_deployment_id = ${crewDeploymentId} and stream = ${stream}
      returning position`
    if (position % CUT_EVERY === 0) await cut(sql, { crewDeploymentId, stream })
  }
}

/** Pieces that fit into a row, whatever the bytes of their characters; only the end is kept. */
function piecesOf(text: string): string[] {
  // PostgreSQL stores no NUL, and no half of a surrogate pair.
  const bytes = Buffer.from(text.replaceAll('\0', '').slice(-LOG_BYTES_MAX))
  const pieces: string[] = []
  for (let start = 0; start < bytes.length;) {
    let end = Math.min(start + PIECE_BYTES_MAX, bytes.length)
    // Continuation bytes belong to the character before them.
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
    pieces.push(bytes.toString('utf8', start, end))
    start = end
  }
  return pieces
}

async function cut(sql: Queryable, { crewDeploymentId, stream }: LogKey): Promise<void> {
  await sql`
    delete from crew_deployment_logs
    where crew_deployment_id = ${crewDeploymentId} and stream = ${stream} and position in (
      select position from (
        select position, sum(octet_length(text)) over (order by position desc) as bytes
        from crew_deployment_logs
        where crew_deployment_id = ${crewDeploymentId} and stream = ${stream}) kept
      where bytes > ${LOG_BYTES_MAX})`
}

/** A log as it is read. */
export interface CrewLog {
  readonly text: string
  /** The same in the pieces in which it was stored, each with its time. */
  readonly pieces: readonly { readonly at: Date; readonly text: string }[]
  /** Its beginning was cut. */
  readonly isCut: boolean
  /** Where to read on. */
  readonly next: number
}

/** Reads a log from a position on. */
export async function readCrewLog(
  sql: Queryable,
  { crewDeploymentId, stream }: LogKey,
  from = 0,
): Promise<CrewLog> {
  const rows = await sql<{ position: number; at: Date; text: string }[]>`
    select position, at, text from crew_deployment_logs
    where crew_deployment_id = ${crewDeploymentId} and stream = ${stream} and position >= ${from}
    order by position`
  return {
    text: rows.map(({ text }) => text).join(''),
    pieces: rows,
    isCut: (rows[0]?.position ?? from) > from,
    next: (rows.at(-1)?.position ?? from - 1) + 1,
  }
}

/** Returns the time of the last lines of a log. */
export async function findLogEnd(
  sql: Queryable,
  { crewDeploymentId, stream }: LogKey,
): Promise<Date | undefined> {
  const [last] = await sql<{ at: Date }[]>`
    select at from crew_deployment_logs
    where crew_deployment_id = ${crewDeploymentId} and stream = ${stream}
    order by position desc limit 1`
  return last?.at
}
