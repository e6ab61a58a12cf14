import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { wholeAttributesOf } from '../../conventions/left-out-keys.ts'
import { BARE_CALL, NAMED_BY_SPAN, PROMOTED_COLUMNS, WORKFLOW } from '../../conventions/columns.ts'
import type { PromotedColumn, Source } from '../../conventions/promoted-column.ts'
import { MAX_COLUMN_BYTES } from '../../otlp/limits.ts'

const member = (json: string, path: string): string =>
  `json_or_null(given ->> ${quote(json)}) #>> ${quote(`{${path.split('.').join(',')}}`)}`

/** What a span has there, as a text in SQL; nothing for what is more than one value. */
function textOf(source: Source): string[] {
  if (typeof source === 'string') return [`given ->> ${quote(source)}`]
  if ('text' in source) return [member(source.json, source.text)]
  return 'member' in source && source.plus.length === 0 ? [member(source.json, source.member)] : []
}

/** The value of a column that has none, of the first source that has one that it can hold. */
function valueOf({ column, kind, keys }: PromotedColumn): string {
  const fits =
    kind === 'text'
      ? `value <> '' and octet_length(value) <= ${MAX_COLUMN_BYTES}`
      : `value ~ '^\\d{1,15}$'`
  const values = keys.flatMap(textOf)
  return `coalesce(${column}, (
    select value${kind === 'text' ? '' : '::int8'}
    from unnest(array[${values.join(', ')}]) with ordinality as found (value, nr)
    where ${fits} order by nr limit 1
  ))`
}

/** Those of which an earlier version may have read nothing; the operation stays what it was. */
const COLUMNS = PROMOTED_COLUMNS.filter(
  ({ column, kind }) => kind !== 'number' && column !== 'operation',
)
const names = COLUMNS.map(({ column }) => column)

const hasOneOf = (columns: readonly string[]): string =>
  `num_nonnulls(${columns.map((column) => `again.${column}`).join(', ')}) > 0`
const IS_BARE_CALL = `(operation is null and spans.operation_kind is null
  and ${hasOneOf(BARE_CALL.models)} and ${hasOneOf(BARE_CALL.tokens)})`
const IS_WORKFLOW = `(coalesce(operation, '') = ${quote(WORKFLOW.word)} and again.workflow is null)`

/** A step of Langfuse has the name of its span. */
const named = (column: string): string =>
  `coalesce(again.${column}, case when spans.operation_kind = '${column}'
    and again.attributes ? ${quote(NAMED_BY_SPAN)}
    and octet_length(spans.name) <= ${MAX_COLUMN_BYTES} then spans.name end)`

const VALUES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(names.map((name) => [name, `again.${name}`])),
  tool: named('tool'),
  agent: `case when not ${IS_WORKFLOW} then ${named('agent')} end`,
  workflow: `case when ${IS_WORKFLOW} then again.agent else again.workflow end`,
  operation_kind: `case when ${IS_BARE_CALL} then '${BARE_CALL.kind}'
    else spans.operation_kind end`,
  llm_call: `spans.llm_call or ${IS_BARE_CALL}`,
}
const columns = Object.keys(VALUES)
const row = (of: (column: string) => string): string => `(${columns.map(of).join(', ')})`

const documents = new Set(
  COLUMNS.flatMap(({ keys }) => keys.flatMap((key) => (typeof key === 'string' ? [] : [key.json]))),
)
/** Prompts are not unpacked where no document is beside them. */
const HAS_DOCUMENT = `payload ~ '"(${[...documents].join('|').replaceAll('.', '\\.')})"'`

const readDay = (day: string): string => `
  update spans set ${row(String)} = row${row((column) => VALUES[column] ?? '')},
    attributes = again.attributes, left_out = null
  from (
    select trace_id, start_time, span_id, organization, whole as attributes,
      ${COLUMNS.map((one) => `${valueOf(one)} as ${one.column}`).join(',\n      ')}
    from spans cross join lateral (
      select whole || coalesce(case when ${HAS_DOCUMENT} then json_or_null(payload) end, '{}')
        as given, whole
      from (select ${wholeAttributesOf('spans')} as whole) as span
      offset 0
    ) as source
    where ${ofDay('spans', day)} and whole is not null
  ) as again
  where ${ofDay('spans', day)} and ${ofDay('again', day)} and spans.trace_id = again.trace_id
    and spans.start_time = again.start_time and spans.span_id = again.span_id
    and spans.organization = again.organization
    and ${row((column) => `spans.${column}`)}
      is distinct from ${row((column) => VALUES[column] ?? '')}`

const ofDay = (table: string, day: string): string => `
  ${table}.start_time >= ${quote(day)}::date::timestamp at time zone 'UTC'
  and ${table}.start_time < (${quote(day)}::date + 1)::timestamp at time zone 'UTC'`

const LIST_DAYS = `
  select to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')
  from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending order by 1 desc`

/**
 * Fills the columns of stored spans of which an earlier version has read nothing, a day at a time.
 * What it has read stays as it is. Returns the number of spans that were changed.
 */
export async function readSpansAgain(session: Session): Promise<number> {
  let spans = 0
  for (const [day] of await session.rows(LIST_DAYS)) {
    await session.query('begin; set local statement_timeout = 0; set local enable_seqscan = on')
    const outcome = await session.query(readDay(day ?? ''))
    await session.query('commit')
    spans += Number(/ (\d+)$/.exec(outcome)?.[1] ?? 0)
  }
  return spans
}
