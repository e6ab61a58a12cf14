import { AppError } from '../../../shared/errors.ts'
import type { Queryable, Transaction } from '../../../shared/postgres/database.ts'
import { addFile } from './archive-files.ts'
import type { DescribedFile } from './archive-files.ts'
import type { Rewritten } from './restore-traces.ts'

/** A trace by its organization and id, a UUID. */
interface OwnedTrace {
  readonly organization: string
  readonly traceId: string
}

/** The files that may have a trace that is not in the database. */
export const listFilesOf = (
  sql: Queryable,
  { traceId, organization }: OwnedTrace,
): Promise<DescribedFile[]> => sql<DescribedFile[]>`
  select path, file.day::text, file.organization, first_trace::text, last_trace::text,
    file.spans::float8 as spans, bytes::float8 as bytes, encode(sha256, 'hex') as sha256
  from traces join cold_files as file on file.organization = traces.organization
    and file.day between (traces.first_start at time zone 'UTC')::date
      and (traces.last_start at time zone 'UTC')::date
    and traces.trace_id between file.first_trace and file.last_trace
  where traces.trace_id = ${traceId}::text::uuid and traces.organization = ${organization}`

/** Puts new files in the place of others. Raises `conflict` when one was replaced meanwhile. */
export async function replaceFiles(
  tx: Transaction,
  rewritten: readonly Rewritten[],
): Promise<void> {
  for (const { path, instead } of rewritten) {
    const { count } = await tx`
      with replaced as (delete from archived_files where path = ${path} returning path)
      insert into files_to_remove (path) select path from replaced`
    if (count === 0)
      throw new AppError('conflict', 'A file of the trace was just written anew; try again.')
    if (instead) await addFile(tx, instead)
  }
}

/** The id that stands in signatures for a trace that was deleted. */
const NO_TRACE = '00000000-0000-0000-0000-000000000000'

/**
 * Takes the texts of a trace out of the search. Signatures are made anew from the spans around;
 * those of archived days, whose spans are not there, lose its bits.
 */
export async function forgetTexts(tx: Transaction, trace: OwnedTrace): Promise<void> {
  const { traceId, organization } = trace
  const hasTrace = tx`trace_ids @> array[${traceId}::text::uuid] and organization = ${organization}`
  const isArchived = tx`is_archived(organization, (start_time at time zone 'UTC')::date)`
  const archived = await tx<
    { place: string; texts: number; traceIds: string[]; signature: Buffer | null }[]
  >`
    select tableoid::regclass || ' ' || ctid as place, texts, trace_ids::text[] as trace_ids,
      signature
    from text_signatures where ${hasTrace} and ${isArchived} for update`
  for (const { place, texts, traceIds, signature } of archived) {
    const cleared = signature && withoutTexts(signature, texts, (at) => traceIds[at] === traceId)
    const [table = '', ctid = ''] = place.split(' ')
    await tx`
      update text_signatures set signature = ${cleared},
        trace_ids = array_replace(trace_ids, ${traceId}::text::uuid, ${NO_TRACE}::text::uuid)
      where tableoid = ${table}::text::regclass and ctid = ${ctid}::text::tid`
  }
  await tx`update text_signatures set signature = null where ${hasTrace} and not ${isArchived}`
}

/** A signature has rows with a bit for each text, the first in the highest bit. */
function withoutTexts(signature: Buffer, texts: number, isGone: (at: number) => boolean): Buffer {
  const cleared = Buffer.from(signature)
  const width = Math.ceil(texts / 8)
  for (let at = 0; at < texts; at++) {
    if (!isGone(at)) continue
    for (let row = at >> 3; row < cleared.length; row += width)
      cleared[row] = (cleared[row] ?? 0) & ~(0x80 >> (at & 7))
  }
  return cleared
}
