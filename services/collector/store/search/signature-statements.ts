import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import { partitionName, startOfDay } from '../spans/partitions.ts'
import { HAS_TEXTS } from './note-texts.ts'
import { TEXTS } from './signature.ts'

const DAY_MS = 86_400_000
/** Signatures with room for more, which become one even before they have enough for a whole one. */
const MAX_OPEN = 16
/** Large values of a span beyond this are not read. */
const MAX_BYTES = 512 * 1024

/** Traces of an organization that have spans in a day whose texts have to be read. */
export interface Noted {
  readonly dayMs: number
  readonly organization: string
  /** Hexadecimal, 32 digits each. */
  readonly traceIds: readonly string[]
}

/** The value of a column of a span, as far as it is read for its text. */
export const small = (column: string): string =>
  `case when octet_length(${column}) <= ${MAX_BYTES} then ${column} end`

/** The columns of a span that its text is read from. */
export const TEXT_COLUMNS = `
  attributes::text, ${small('payload')} as payload, ${small('events')} as events`

/** A span of a trace, in the upper half, and its end: one that comes again may say other things. */
export const member = (table: string): string => `
  ((hash_record(row(${table}.start_time, ${table}.span_id))::int8 << 32)
    | (hash_record(row(${table}.duration_ns))::int8 & 4294967295))`

const touched = ({ traceIds }: Noted): string => `
  touched as materialized (
    select distinct trace_id from unnest('{${traceIds.join()}}'::uuid[]) as noted (trace_id)
  )`

const ofDay = (table: string, { dayMs, organization }: Noted): string => `
  ${table}.organization = ${quote(organization)}
  and ${table}.start_time >= '${new Date(dayMs).toISOString()}'
  and ${table}.start_time < '${new Date(dayMs + DAY_MS).toISOString()}'`

const spansOf = (table: string, noted: Noted, ...columns: string[]): string => `
  current as materialized (
    select found.* from touched cross join lateral (
      select ${['trace_id', `${member('spans')} as member`, ...columns].join(', ')}
      from ${table} as spans
      where spans.trace_id = touched.trace_id
        and spans.trace_id between touched.trace_id and touched.trace_id
        and ${ofDay('spans', noted)} and ${HAS_TEXTS}
      offset 0
    ) as found
  )`

const membersOf = (noted: Noted): string => `
  known as materialized (
    select found.place, of_span.trace_id, of_span.member
    from touched cross join lateral (
      select signed.ctid as place, trace_ids, members from text_signatures as signed
      where signed.trace_ids @> array[touched.trace_id] and ${ofDay('signed', noted)}
      offset 0
    ) as found
    cross join lateral unnest(found.trace_ids, found.members) as of_span (trace_id, member)
    where of_span.trace_id = touched.trace_id
  )`

const SAME = 'current.trace_id = known.trace_id and current.member = known.member'
const SAME_SPAN = SAME.replaceAll('member', 'member >> 32')

/**
 * Deletes signatures that have to be made anew, and finds the traces of their spans: those with a
 * span that is not there any more, and those with room, once they have enough for a whole one. A
 * text that a span does not have any more, because it came again, does no harm.
 */
export const deleteStale = (noted: Noted, table: string): string => `
  with ${touched(noted)}, ${spansOf(table, noted)}, ${membersOf(noted)},
  open as materialized (
    select ctid as place, texts, signature is null as is_void from text_signatures as signed
    where (signature is null or texts < ${TEXTS}) and ${ofDay('signed', noted)}
  ),
  stale as (
    select place from known where not exists (select from current where ${SAME_SPAN})
    union
    select place from open
    where is_void or (
      select sum(texts) >= ${TEXTS} or count(*) >= ${MAX_OPEN} from open where not is_void
    )
  ),
  deleted as (
    delete from text_signatures as signed
    where ctid = any (array(select place from stale)) and ${ofDay('signed', noted)}
    returning trace_ids
  )
  select distinct replace(trace_id::text, '-', '') from deleted, unnest(trace_ids) as trace_id`

/** Texts of an earlier version: their spans get signatures. */
export const deleteFormerTexts = (noted: Noted): string => `
  with ${touched(noted)}
  delete from span_texts using touched
  where span_texts.trace_id = touched.trace_id and ${ofDay('span_texts', noted)}`

/** What is read in one go, a span at least; signatures of all of it are in memory meanwhile. */
export interface ReadLimits {
  readonly spans: number
  readonly bytes: number
}

/** The bytes of what a text is read from, as they are stored, which takes no look at them. */
const SIZE = [
  'pg_column_size(attributes)',
  ...['payload', 'events'].map((column) => `octet_length(${small(column)})`),
]
  .map((size) => `coalesce(${size}, 0)`)
  .join(' + ')

/** The columns of `readUnsigned`. */
export const UNSIGNED_COLUMNS = [
  'unsigned',
  'start_time',
  'trace_id',
  'member',
  'attributes',
  'payload',
  'events',
] as const

/**
 * Sends, in COPY BINARY, spans that are in no signature, trace by trace, with what their texts are
 * read from; and with each how many there are, for these may be the first of them.
 */
export const readUnsigned = (noted: Noted, table: string, limits: ReadLimits): string => `
  copy (
    with ${touched(noted)},
    ${spansOf(table, noted, 'spans.ctid as place', 'start_time', `${SIZE} as size`)},
    ${membersOf(noted)}
    select chosen.unsigned, chosen.start_time, chosen.trace_id, chosen.member, found.*
    from (
      select *, count(*) over () as unsigned,
        sum(size) over (order by trace_id, start_time rows unbounded preceding) - size as before
      from current where not exists (select from known where ${SAME})
      order by trace_id, start_time limit ${limits.spans}
    ) as chosen cross join lateral (
      select ${TEXT_COLUMNS} from ${table} as spans
      where spans.ctid = chosen.place and ${ofDay('spans', noted)}
      offset 0
    ) as found
    where before <= ${limits.bytes}
  ) to stdout (format binary)`

/** Adds signatures in COPY BINARY. */
export const COPY_SIGNATURES = `
  copy text_signatures
    (start_time, last_start, organization, texts, trace_ids, members, signature)
  from stdin (format binary)`

/** Spans of some notes that have texts: Citus does not join those on other nodes with others. */
export const COPY = 'spans_of_notes'
const COPIED =
  'start_time, trace_id, span_id, parent_span_id, organization, duration_ns, operation_kind, ' +
  'attributes'

/** Makes the table for such a copy, which is empty after each transaction. */
export const CREATE_COPY = `
  create temp table ${COPY} on commit delete rows as
    select ${COPIED}, payload, events from spans with no data;
  create index on ${COPY} (trace_id)`

/** Copies the spans of these traces. */
export const copySpans = (noted: Noted): string => `
  insert into ${COPY}
  select ${COPIED}, ${small('payload')}, ${small('events')} from spans
  where trace_id = any ('{${noted.traceIds.join()}}') and ${HAS_TEXTS} and ${ofDay('spans', noted)}`

/** `text_signatures_20261121`; none for a day that has been dropped. */
export const ensureDay = ({ dayMs }: Noted): string => {
  const [begins, ends] = [dayMs, dayMs + DAY_MS].map((ms) => startOfDay(ms / DAY_MS))
  const name = `text_signatures_${begins?.slice(0, 10).replaceAll('-', '')}`
  return `
    do $$
    begin
      if to_regclass('${name}') is null
        and to_regclass('${partitionName(dayMs / DAY_MS)}') is not null
      then
        create table ${name} (like text_signatures including storage including compression);
        alter table text_signatures attach partition ${name}
          for values from ('${begins}') to ('${ends}');
      end if;
    end
    $$`
}
