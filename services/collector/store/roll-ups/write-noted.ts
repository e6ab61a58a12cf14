import { arrayText } from '../../../shared/postgres/arrays.ts'
import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection, Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { TRACES_A_NOTE } from '../search/note-texts.ts'
import { COPY_HEADER, COPY_TRAILER } from '../spans/sorted-rows.ts'
import { NOTED_COLUMNS } from './noted-rows.ts'
import type { NotedRow } from './noted-rows.ts'
import type { TouchedTrace } from './notes.ts'

/** A connection of the leader. */
export type TurnSession = Session & Pick<CopyConnection, 'copy'>

/** A trace of which its note has the roll-up. */
type NotedTrace = TouchedTrace & { readonly noted: NotedRow }

const isNoted = (one: TouchedTrace): one is NotedTrace => one.noted !== undefined

/**
 * Parts the traces whose notes have all there is of them from the others, of which the spans have
 * to be read: those in the roll-ups, and those that were erased, for which commits store nothing.
 */
export async function findNoted(
  session: Session,
  touched: readonly TouchedTrace[],
): Promise<{ noted: readonly NotedTrace[]; others: readonly TouchedTrace[] }> {
  const given = touched.filter(isNoted)
  if (given.length === 0) return { noted: [], others: touched }
  const rows = await session.rows(`
    select nr - 1 from ${sourceOf(given)}
    left join lateral (
      select true as is_known from traces
      where traces.organization = one.organization and traces.trace_id = one.trace_id
      offset 0
    ) as known on true
    where is_known or (organization, trace_id) in (
      select organization, trace_id from erasures where refused_until > now() - interval '1 day'
    )`)
  const stale = new Set<TouchedTrace | undefined>(rows.map(([nr]) => given[Number(nr)]))
  return {
    noted: given.filter((one) => !stale.has(one)),
    others: touched.filter((one) => !isNoted(one) || stale.has(one)),
  }
}

const sourceOf = (traces: readonly TouchedTrace[]): string => `unnest(
      ${quote(arrayText(traces.map(({ organization }) => organization)))}::text[],
      '{${traces.map(({ traceId }) => traceId).join()}}'::uuid[]
    ) with ordinality as one (organization, trace_id, nr)`

/** Writes these roll-ups, and what the statement for the others writes beside them. */
export async function writeNoted(
  session: TurnSession,
  noted: readonly NotedTrace[],
): Promise<void> {
  const chunks = [COPY_HEADER, ...noted.map((one) => one.noted.row), COPY_TRAILER]
  const data = Buffer.concat(chunks)
  const statements = [
    `insert into trace_changes (organization, trace_id)
      select organization, trace_id from ${sourceOf(noted)}`,
    ...noteTexts(noted.filter((one) => one.noted.hasTexts)),
    `copy traces (${NOTED_COLUMNS.join(', ')}) from stdin (format binary)`,
  ]
  await session.copy(statements.join('; '), { size: data.length, chunks: () => [data] })
}

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
