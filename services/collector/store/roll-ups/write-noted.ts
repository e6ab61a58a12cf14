import { arrayText } from '../../../shared/postgres/arrays.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { streamOf } from '../../../shared/postgres/copy/copy-rows.ts'
import { TRACES_A_NOTE } from '../search/note-texts.ts'
import { MEASURES } from './measures.ts'
import { NOTED_COLUMNS } from './noted-rows.ts'
import type { NotedRow } from './noted-rows.ts'
import type { TouchedTrace } from './notes.ts'
import { addUsage } from './roll-up-statement.ts'
import { USED_COLUMNS } from './used-columns.ts'

/** A connection of the leader. */
export interface TurnSession extends Session, Pick<CopyConnection, 'copy' | 'copyOut'> {
  readonly pricesKey: Buffer
  /** Makes the fields of `USED_COLUMNS` of what is packed. */
  readonly usedFields: (packed: Buffer) => Buffer
}

/** A trace of which its note has the roll-up. */
type NotedTrace = TouchedTrace & { readonly noted: NotedRow }

const isNoted = (one: TouchedTrace): one is NotedTrace => one.noted !== undefined

/**
 * Parts the traces whose notes have all there is of them from the others, of which the spans have
 * to be read: those in the roll-ups, those that were erased, for which commits store nothing, and
 * those with calls of organizations with prices of their own, which commits do not know.
 */
export async function findNoted(
  session: Session,
  touched: readonly TouchedTrace[],
): Promise<{ noted: readonly NotedTrace[]; others: readonly TouchedTrace[] }> {
  const given = touched.filter(isNoted)
  if (given.length === 0) return { noted: [], others: touched }
  const haveCalls = given.map((one) => one.noted.usage !== undefined)
  const rows = await session.rows(
    `execute find_stale (${argumentsOf(given)}, '{${haveCalls.join()}}')`,
  )
  const stale = new Set<TouchedTrace | undefined>(rows.map(([nr]) => given[Number(nr)]))
  const noted = given.filter((one) => !stale.has(one))
  const others = touched.filter((one) => !isNoted(one) || stale.has(one))
  const withCalls = noted.filter((one) => one.noted.usage)
  if (others.length === 0 || withCalls.length >= FEWEST_WITH_CALLS) return { noted, others }
  return { noted: noted.filter((one) => !one.noted.usage), others: [...others, ...withCalls] }
}

/** Fewer are read with the others: their statements would take longer than that. */
const FEWEST_WITH_CALLS = 50

/** Prepares the statements about traces of notes: to plan them takes longer than a small turn. */
export const PREPARE_NOTED = `
  prepare find_stale (text[], uuid[], bool[]) as
    select nr - 1
    from unnest($1, $2, $3) with ordinality as one (organization, trace_id, has_calls, nr)
    left join lateral (
      select true as is_known from traces
      where traces.organization = one.organization and traces.trace_id = one.trace_id
      offset 0
    ) as known on true
    where is_known or (organization, trace_id) in (
      select organization, trace_id from erasures where refused_until > now() - interval '1 day'
    ) or has_calls and organization in (select organization from organization_prices);
  prepare add_noted_usage (text[], uuid[]) as ${addUsage(`
    select hour, known.organization, coalesce(crew_id, '') as crew_id, model,
      ${MEASURES.map(({ column }) => `part.${column}`).join(', ')}
    from unnest($1, $2) as one (organization, trace_id)
    cross join lateral (
      select organization, crew_id, usage from traces
      where traces.organization = one.organization and traces.trace_id = one.trace_id
      offset 0
    ) as known
    cross join lateral unnest(usage) as part`)}`

const argumentsOf = (traces: readonly TouchedTrace[]): string =>
  [
    `${quote(arrayText(traces.map(({ organization }) => organization)))}::text[]`,
    `'{${traces.map(({ traceId }) => traceId).join()}}'::uuid[]`,
  ].join(', ')

/** Writes these roll-ups, and what the statement for the others writes beside them. */
export async function writeNoted(
  session: TurnSession,
  noted: readonly NotedTrace[],
): Promise<void> {
  // Most indexes begin with the start: what lies side by side there is written side by side.
  const inTime = noted.toSorted((one, other) => one.noted.startUs - other.noted.startUs)
  const plain = inTime.filter((one) => !one.noted.usage)
  const withCalls = inTime.filter((one) => one.noted.usage)
  const usedColumns = [...NOTED_COLUMNS, ...USED_COLUMNS]
  const copies = [
    ['trace_changes', IDS, inTime.flatMap(({ noted: { ids } }) => [IDS_COUNT, ids])],
    ['traces', NOTED_COLUMNS, plain.map((one) => one.noted.row)],
    ['traces', usedColumns, withCalls.flatMap(({ noted }) => rowWithCalls(session, noted))],
  ] as const
  const given = copies.filter(([, , rows]) => rows.length > 0)
  const statements = [
    ...noteTexts(noted.filter((one) => one.noted.hasTexts)),
    ...given.map(([table, columns]) => copyOf(table, columns)),
  ]
  await session.copy(statements.join('; '), ...given.map(([, , rows]) => streamOf(rows)))
  if (withCalls.length > 0)
    await session.query(`execute add_noted_usage (${argumentsOf(withCalls)})`)
}

/** The columns that a row begins with, of which another row is made. */
const IDS = NOTED_COLUMNS.slice(0, 2)
const IDS_COUNT = Buffer.from([0, IDS.length])

const rowWithCalls = (session: TurnSession, { row, usage }: NotedRow): Buffer[] =>
  usage ? [row, session.usedFields(usage)] : [row]

const copyOf = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.join(', ')}) from stdin (format binary)`

/** A trace that is in no roll-up has spans of one note, and that is of one day. */
function noteTexts(traces: readonly NotedTrace[]): string[] {
  const byOwner = new Map<string, NotedTrace[]>()
  for (const one of traces) {
    const owner = `${quote(one.organization)}, '${one.firstDay}'::date`
    const list = byOwner.get(owner) ?? []
    byOwner.set(owner, list)
    list.push(one)
  }
  const notes = [...byOwner].flatMap(([owner, list]) =>
    Array.from({ length: Math.ceil(list.length / TRACES_A_NOTE) }, (_, nr) => {
      const part = list.slice(nr * TRACES_A_NOTE, (nr + 1) * TRACES_A_NOTE)
      return `(${owner}, '\\x${part.map(({ traceId }) => traceId).join('')}'::bytea)`
    }),
  )
  if (notes.length === 0) return []
  return [
    `insert into traces_to_extract (organization, day, trace_ids)
      select * from (values ${notes.join(', ')}) as notes
      where (select state from text_search) = 'on'`,
  ]
}
