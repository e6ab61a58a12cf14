import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { requestDigest } from '../crew-contract/step-request.ts'
import type { StepRequest } from '../crew-contract/step-request.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'

/** The most messages of a request that is read back. */
const PARTS_MAX = 10_000
/** The longest line of a crew, in UTF-8. */
const PART_BYTES_MAX = 33_554_432
/** To begin to compress takes more than shorter parts become shorter by. */
const STORED_BYTES_MAX = 128

/** A part of a request, as it is stored: its address is that of all parts up to this one. */
export interface RequestPart {
  /** In hexadecimal digits, as the one before it. */
  readonly address: string
  readonly previous: string | undefined
  /** Canonical JSON as DEFLATE, in base64. */
  readonly content: string
}

/** The digest of a request, and where its parts are. */
export interface RequestRecord {
  readonly sha256: string
  readonly address: string
  /** Those that are not known yet. */
  readonly parts: readonly RequestPart[]
}

/** Divides a request into its parts. Those that are not among the known ones are added to them. */
export function recordRequest(request: StepRequest, known: Set<string>): RequestRecord {
  const { messages, ...head } = request
  const parts: RequestPart[] = []
  let address: string | undefined
  const values = Array.isArray(messages) && messages.length > 0 ? [head, ...messages] : [request]
  for (const value of values) {
    const previous: string | undefined = address
    const json = canonicalJson(value)
    address = createHash('sha256')
      .update(Buffer.from(previous ?? '', 'hex'))
      .update(json)
      .digest('hex')
    if (known.has(address)) continue
    known.add(address)
    parts.push({ address, previous, content: deflate(json).toString('base64') })
  }
  const sha256 = values.length === 1 && address ? address : requestDigest(request)
  return { sha256, address: address ?? '', parts }
}

/** Short texts become one block that is stored as it is (RFC 1951, 3.2.4). */
function deflate(text: string): Buffer {
  const bytes = Buffer.from(text)
  const { length } = bytes
  if (length > STORED_BYTES_MAX) return deflateRawSync(bytes)
  const head = Uint8Array.of(1, length, 0, 255 - length, 255)
  return Buffer.concat([head, bytes])
}

/** Loads a request of a run by its address; undefined when a part of it is not there any more. */
export async function loadRequest(
  sql: Queryable,
  { runId, address }: { readonly runId: string; readonly address: Buffer },
): Promise<StepRequest | undefined> {
  const rows = await sql<{ isFirst: boolean; content: Buffer }[]>`
    with recursive run as materialized (
      select content_day(id) as day, organization_id from executions where id = ${runId}),
    part as (
      select c.previous, c.content, 1 as place
      from run join run_contents c
        on c.day = run.day and c.organization_id = run.organization_id and c.address = ${address}
      union all
      select c.previous, c.content, p.place + 1
      from part p cross join run join run_contents c
        on c.day = run.day and c.organization_id = run.organization_id and c.address = p.previous
      where p.place < ${PARTS_MAX})
    select previous is null as is_first, content from part order by place desc`
  if (!rows[0]?.isFirst) return undefined
  const [head, ...messages] = rows.map(({ content }) =>
    JSON.parse(inflateRawSync(content, { maxOutputLength: PART_BYTES_MAX }).toString()),
  )
  return { ...(head as StepRequest), ...(messages.length > 0 ? { messages } : {}) }
}

/** Holds while there is something that deleted runs were asked. */
export const hasSweptContents = (sql: Queryable) => sql`exists (select from swept_contents)`

/**
 * Deletes what the deleted runs of a day were asked, and no other run of their organization and
 * that day. Returns how many days of organizations were looked at. Whoever writes parts of that day
 * waits meanwhile, so that none is taken for unused.
 */
export async function sweepContents(sql: Database): Promise<number> {
  return sql.begin(async (tx) => {
    await tx`set local lock_timeout = '500ms'`
    const [swept] = await tx<{ day: string; organizationId: number; part: string | null }[]>`
      delete from swept_contents where (day, organization_id) = (
        select day, organization_id from swept_contents limit 1 for update skip locked)
      returning day::text, organization_id,
        to_regclass(case when day = '1970-01-01' then 'run_contents_undated'
          else 'run_contents' || to_char(day, '_YYYYMMDD') end)::text as part`
    if (!swept) return 0
    const { day, organizationId, part } = swept
    if (part === null) return 1
    await tx`lock table ${tx(part)} in share row exclusive mode`
    await tx`
      with recursive used as (
        select s.request as address
        from executions e join run_steps s on s.run_id = e.id
        where e.organization_id = ${organizationId} and s.request is not null
          and e.id >= first_run_id(greatest(${day}::text::date, date '1970-01-02'))
          and (${day} = '1970-01-01' or e.id < first_run_id(${day}::text::date + 1))
        union
        select c.previous from used u join ${tx(part)} c
          on c.day = ${day}::text::date and c.organization_id = ${organizationId}
            and c.address = u.address
        where c.previous is not null)
      delete from ${tx(part)} c
      where c.day = ${day}::text::date and c.organization_id = ${organizationId}
        and not exists (select from used u where u.address = c.address)`
    return 1
  })
}
