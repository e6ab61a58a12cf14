import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { SpanView } from '../../shared/trace-answers/one-trace.ts'
import { PROMOTED_COLUMNS } from '../conventions/columns.ts'
import { KEPT_COLUMNS } from '../conventions/left-out-keys.ts'
import { messagesOf } from '../conventions/messages.ts'
import { pricedSpans } from './priced-spans.ts'
import { attributesOfRow, toIdentityJson, toSpanJson } from './span-json.ts'
import type { SpanRow } from './span-json.ts'
import { listResources, listScopes } from './span-rows.ts'

/** What was sent is in OTLP's own form. */
interface SpanDocument extends Omit<SpanView, 'span' | 'resource' | 'scope'> {
  readonly span: object
  readonly resource: object
  readonly scope: object
}

/** Of a span whose texts are larger, only what is small is shown. */
const MAX_BYTES = 8 << 20

const UNPRICED = pricedSpans([])

const COLUMNS = [
  'operation_kind',
  'organization',
  'llm_call',
  ...PROMOTED_COLUMNS.map(({ column }) => column),
  'computed_cost_usd',
]

interface Row extends SpanRow {
  readonly resourceId: string
  readonly scopeId: string
  /** A JSON object. */
  readonly columns: string
  readonly isLarge: boolean
}

/** The ids of a span and of its trace. */
interface SpanPlace {
  /** A UUID. */
  readonly traceId: string
  /** A signed decimal. */
  readonly spanId: string
}

/**
 * A span by its ids, from what `pricedSpans` returns; of rows with the same ids the latest of the
 * first organization is shown.
 * Raises `not_found`.
 */
export async function readSpanView(
  sql: Queryable,
  place: SpanPlace,
  source = UNPRICED,
): Promise<SpanDocument> {
  const [row] = await findSpan(sql, place, source)
  if (!row) throw spanNotFound(place)
  const [[resource], [scope]] = await Promise.all([
    listResources(sql, [row.resourceId]),
    listScopes(sql, [row.scopeId]),
  ])
  return {
    span: toSpanJson(row),
    resource: toIdentityJson(resource),
    scope: toIdentityJson(scope),
    columns: JSON.parse(row.columns) as Record<string, unknown>,
    messages: messagesOf({ ...row, attributes: attributesOfRow(row) }),
    truncated: row.isLarge,
  }
}

const spanNotFound = ({ traceId }: SpanPlace): AppError =>
  new AppError(
    'not_found',
    `There is no such span in the trace ${traceId}. It may have expired, or is not committed yet.`,
  )

/** Large values are not unpacked to find it. The order is one that no index has. */
const findSpan = (sql: Queryable, { traceId, spanId }: SpanPlace, source: string) => sql<Row[]>`
  select trace_id, span_id, parent_span_id, start_ns, duration_ns, kind, status,
    (extract(epoch from start_time) * 1000000)::int8 as start_us,
    status_message, name, trace_state, flags, dropped_attributes, dropped_events, dropped_links,
    other_attributes::text as attributes, left_out, ${sql(KEPT_COLUMNS)}, links, resource_id,
    scope_id, is_large,
    case when is_large then null else payload end as payload,
    case when is_large then null else events end as events,
    (select to_jsonb(shown) from (select ${sql(COLUMNS)}) as shown)::text as columns
  from (
    select *,
      coalesce(octet_length(payload), 0) + coalesce(octet_length(events), 0) > ${MAX_BYTES}::int8
        as is_large
    from ${sql.unsafe(source)}
    where trace_id = ${traceId}::text::uuid and span_id = ${spanId}::text::int8
    order by organization, start_time + interval '0' desc limit 1
  ) as found`
