import { inflateRawSync } from 'node:zlib'
import type { Queryable } from '../../shared/postgres/database.ts'
import { itemOf } from './places.ts'
import type { Place, Sought } from './places.ts'
import { bytesPatternsOf, patternsOf } from './needle.ts'
import type { Needle } from './needle.ts'

/** The longest part of a request that is read, in bytes. */
const PART_BYTES_MAX = 33_554_432

interface ReadRow {
  readonly item: string
  readonly cursor: string
  readonly isFound: boolean
}

/** A page of a place that was read. */
interface ReadPage {
  readonly found: readonly string[]
  /** Where the next one begins; undefined: nothing is left. */
  readonly after: string | undefined
}

/** Returns what a needle means in the main database. */
export const soughtOf = ({ kind, value }: Needle): Sought => ({
  patterns: kind === 'text' ? patternsOf(value) : [],
  bytesPatterns: kind === 'text' ? bytesPatternsOf(value) : [],
  starters: kind === 'user' ? [value, `person:${value}`] : [],
})

/** Reads the next rows of a place of an organization, and returns those that are of the person. */
export async function readPlace(
  sql: Queryable,
  place: Place,
  of: { readonly organizationId: number; readonly after: string | null; readonly needle: Needle },
): Promise<ReadPage> {
  const sought = soughtOf(of.needle)
  const raw = (text: string) => sql.unsafe(text)
  const names = place.key.map(([name]) => name).join(', ')
  const from = of.after?.split('/') ?? []
  const behind = place.key
    .map(([, type], at) => sql`${from[at] ?? null}::text::${raw(type)}`)
    .reduce((all, each) => sql`${all}, ${each}`)
  const isFound =
    place.isFound?.(sql, sought) ??
    sql`coalesce(lower((${raw(place.text)})::text) like any (${sought.patterns}::text[]), false)`
  const rows = await sql<ReadRow[]>`
    select ${raw(itemOf(place))}::text as item, concat_ws('/', ${raw(names)}) as cursor,
      ${isFound} as is_found
    from ${raw(place.from)}
    where ${raw(place.organization)} = ${of.organizationId}
      ${of.after === null ? sql`` : sql`and (${raw(names)}) > (${behind})`}
    order by ${raw(names)} limit ${place.rows}`
  const found = rows.filter((row) => row.isFound).map(({ item }) => item)
  if (place.kind === 'run' && of.needle.kind === 'text') {
    const others = rows.filter((row) => !row.isFound).map(({ item }) => item)
    found.push(...(await findInRequests(sql, others, of.needle.value)))
  }
  return { found, after: rows.length < place.rows ? undefined : rows.at(-1)?.cursor }
}

/** The runs among these whose models and tools were asked with the text. */
async function findInRequests(
  sql: Queryable,
  runIds: readonly string[],
  value: string,
): Promise<string[]> {
  const rows = await sql<{ runId: string; content: Buffer }[]>`
    with recursive part as (
      select distinct e.id, content_day(e.id) as day, e.organization_id, s.request as address
      from executions e join run_steps s on s.run_id = e.id
      where e.id = any (${runIds}::uuid[]) and s.request is not null
      union
      select p.id, p.day, p.organization_id, c.previous
      from part p join run_contents c on c.day = p.day
        and c.organization_id = p.organization_id and c.address = p.address
      where c.previous is not null)
    select p.id as run_id, c.content from part p join run_contents c on c.day = p.day
      and c.organization_id = p.organization_id and c.address = p.address`
  const lower = value.toLowerCase()
  const forms = [lower, JSON.stringify(lower).slice(1, -1)]
  const isFound = (content: Buffer): boolean => {
    const text = inflateRawSync(content, { maxOutputLength: PART_BYTES_MAX })
      .toString()
      .toLowerCase()
    return forms.some((form) => text.includes(form))
  }
  const found = new Set<string>()
  for (const { runId, content } of rows) {
    if (!found.has(runId) && isFound(content)) found.add(runId)
  }
  return [...found]
}

/** Adds what was found to an erasure. Returns how many are new. */
export async function addItems(
  sql: Queryable,
  erasureId: string,
  { kind, items }: { readonly kind: string; readonly items: readonly string[] },
): Promise<void> {
  if (items.length === 0) return
  await sql`
    insert into erasure_items (erasure_id, kind, item)
    select ${erasureId}, ${kind}, unnest(${items}::text[]) on conflict do nothing`
}

/** Adds what belongs to the runs and traces that were found. */
export async function addRelated(
  sql: Queryable,
  { id, organizationId }: { readonly id: string; readonly organizationId: number },
): Promise<void> {
  const ofKind = (kind: string) =>
    sql`select item::uuid from erasure_items where erasure_id = ${id} and kind = ${kind}`
  const related = [
    sql`select 'run', run_id from run_files where file_id in (${ofKind('file')})`,
    sql`select 'file', file_id from run_files where run_id in (${ofKind('run')})`,
    sql`
      select 'batch_row', batch_id || '/' || position from batch_row_files
      where file_id in (${ofKind('file')})`,
    sql`select 'case', case_id from case_files where file_id in (${ofKind('file')})`,
    sql`select 'trace', item from (${ofKind('run')}) r`,
    sql`
      select 'webhook_message', m.id from webhook_messages m
      where execution_id in (${ofKind('run')})`,
    sql`
      select 'trigger_delivery', t.id from trigger_deliveries t
      where run_id in (${ofKind('run')}) and payload is not null`,
    sql`select 'case', c.id from cases c where run_id in (${ofKind('run')})`,
    sql`
      select 'note', n.id from trace_notes n where organization_id = ${organizationId}
        and trace_id in (${ofKind('trace')})`,
  ]
  for (const found of related)
    await sql`
      insert into erasure_items (erasure_id, kind, item)
      select ${id}, kind, item::text from (${found}) as f (kind, item) on conflict do nothing`
}
