import { AppError } from '../../../shared/errors.ts'
import type { Database, Queryable } from '../../../shared/postgres/database.ts'
import { wholeAttributesOf } from '../../conventions/left-out-keys.ts'
import { hasAttribute } from '../spans/attribute-condition.ts'
import { STORED_COLUMNS } from '../archive/archived-columns.ts'
import type { ColdDays } from '../archive/cold-days.ts'
import { findArchived } from '../archive/find-archived.ts'

/** What is looked for: a text, a user or an attribute. */
interface Mention {
  /** The text in each way in which it may be stored, as `like` has it, in lower case. */
  readonly patterns: readonly string[]
  /** Likewise within bytes, as `encode(…, 'escape')` shows them. */
  readonly bytesPatterns: readonly string[]
  readonly user?: string | undefined
  readonly attribute?: { readonly key: string; readonly value: string } | undefined
}

interface Question extends Mention {
  readonly organization: string
  /** Where the last answer ended. */
  readonly after: string | undefined
}

/** Traces with a mention, among those that were looked at. */
export interface FoundMentions {
  readonly traceIds: readonly string[]
  /** Where the next ones begin; undefined: all were looked at. */
  readonly next: string | undefined
}

/** Traces, and spans, that are looked at for one answer; a larger trace is one of its own. */
const TRACES = 200
const SPANS = 5000

interface ListedTrace {
  readonly traceId: string
  readonly startTime: string
  readonly firstStart: string
  readonly lastStart: string
  readonly spans: number
}

/**
 * Looks through the spans of the next traces of an organization, also of archived days: at their
 * names, attributes, contents, events and links, and at what sent them. The search knows the
 * beginnings of prompts and answers alone, and finds less.
 */
export async function findMentions(
  sql: Database,
  { organization, after, ...mention }: Question,
  cold: ColdDays | undefined,
): Promise<FoundMentions> {
  const listed = await listTraces(sql, organization, after)
  const traceIds = listed.map(({ traceId }) => traceId)
  const missing = await findArchived(
    sql,
    traceIds.map((traceId) => ({ traceId, organization })),
  )
  if (missing.length > 0 && !cold)
    throw new AppError('unavailable', 'Traces are in archived days, and their store is not set.')
  await cold?.restore(missing)
  const last = listed.at(-1)
  const next = last && `${last.startTime} ${last.traceId}`
  const found = last ? await lookAtSpans(sql, { organization, listed, mention }) : []
  if (after === undefined) found.push(...(await findRejected(sql, organization, mention)))
  return { traceIds: [...new Set(found)], next }
}

async function listTraces(
  sql: Queryable,
  organization: string,
  after: string | undefined,
): Promise<ListedTrace[]> {
  const [, startTime = '-infinity', traceId = NO_TRACE] = /^(.+) (\S+)$/.exec(after ?? '') ?? []
  const rows = await sql<ListedTrace[]>`
    select trace_id, start_time::text, first_start::text, last_start::text, spans::float8 as spans
    from traces where organization = ${organization} and (start_time, trace_id) >
      (${startTime}::text::timestamptz, ${traceId}::text::uuid)
    order by start_time, trace_id limit ${TRACES}`
  let spans = 0
  const end = rows.findIndex((row) => (spans += row.spans) > SPANS)
  return end < 0 ? [...rows] : rows.slice(0, Math.max(end, 1))
}

const NO_TRACE = '00000000-0000-0000-0000-000000000000'

/** Of `spans as s`. */
const TEXTS = STORED_COLUMNS.filter(({ kind, name }) => kind === 'text' && name !== 'organization')
  .map(({ name }) => (name === 'attributes' ? wholeAttributesOf('s') : `s.${name}`))
  .join(', ')

const hasText = (sql: Queryable, text: string, { patterns }: Pick<Mention, 'patterns'>) => sql`
  coalesce(lower((${sql.unsafe(text)})::text) like any (${patterns}::text[]), false)`

async function lookAtSpans(
  sql: Queryable,
  {
    organization,
    listed,
    mention,
  }: { organization: string; listed: readonly ListedTrace[]; mention: Mention },
): Promise<string[]> {
  const { user, attribute } = mention
  const condition =
    user !== undefined
      ? sql`s.user_id = ${user}`
      : attribute
        ? sql`${hasAttribute(sql, 's', attribute)}
            or r.attributes ->> ${attribute.key}::text = ${attribute.value}`
        : sql`${hasText(sql, `concat_ws(E'\\n', ${TEXTS})`, mention)}
            or ${hasText(sql, 'r.attributes', mention)}
            or ${hasText(sql, `concat_ws(E'\\n', c.name, c.version, c.attributes)`, mention)}`
  const rows = await sql<{ traceId: string }[]>`
    select distinct s.trace_id from (
        select * from unnest(
          ${listed.map(({ traceId }) => traceId)}::text[]::uuid[],
          ${listed.map(({ firstStart }) => firstStart)}::text[]::timestamptz[],
          ${listed.map(({ lastStart }) => lastStart)}::text[]::timestamptz[]
        ) as listed (trace_id, first_start, last_start)) as t
      join spans s on s.trace_id = t.trace_id and s.organization = ${organization}
        and s.start_time between t.first_start and t.last_start
      left join resources r on r.id = s.resource_id and r.organization = s.organization
      left join scopes c on c.id = s.scope_id and c.organization = s.organization
    where ${condition}`
  return rows.map(({ traceId }) => traceId)
}

/** Rows that the database refused have texts as well, as bytes. */
async function findRejected(
  sql: Queryable,
  organization: string,
  { bytesPatterns }: Mention,
): Promise<string[]> {
  const rows = await sql<{ traceId: string }[]>`
    select distinct trace_id from span_rejects
    where organization = ${organization} and trace_id is not null
      and lower(encode(row_bytes, 'escape')) like any (${bytesPatterns}::text[])`
  return rows.map(({ traceId }) => traceId)
}

/**
 * Takes a text out of what is of no trace alone: what sent spans keeps its id, without attributes,
 * and rejected rows go. What sent spans of a trace that is held stays.
 */
export async function forgetMentions(
  sql: Database,
  { organization, ...mention }: Mention & { readonly organization: string },
): Promise<void> {
  const isHeld = (column: string) => sql`exists (
    select from held_traces h join spans s
      on s.trace_id = h.trace_id and s.organization = h.organization
    where h.organization = ${organization} and s.${sql.unsafe(column)} = owner.id)`
  await sql`
    update resources as owner set attributes = '{}', schema_url = null
    where organization = ${organization} and not ${isHeld('resource_id')}
      and ${hasText(sql, `concat_ws(' ', attributes, schema_url)`, mention)}`
  await sql`
    update scopes as owner set name = '', version = null, attributes = '{}', schema_url = null
    where organization = ${organization} and not ${isHeld('scope_id')}
      and ${hasText(sql, `concat_ws(' ', name, version, attributes, schema_url)`, mention)}`
  await sql`
    delete from span_rejects where organization = ${organization}
      and lower(encode(row_bytes, 'escape')) like any (${mention.bytesPatterns}::text[])
      and not exists (
        select from held_traces h
        where h.organization = span_rejects.organization and h.trace_id = span_rejects.trace_id)`
}
