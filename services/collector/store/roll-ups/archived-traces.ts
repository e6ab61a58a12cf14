import { quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { Session } from '../../../shared/postgres/copy/copy-connection.ts'
import { toArguments } from './notes.ts'
import type { TouchedTrace } from './notes.ts'

/** Touched traces, by whether all of their spans are in the database. */
interface SortedTraces {
  readonly whole: readonly TouchedTrace[]
  readonly archived: readonly TouchedTrace[]
}

const FIND = (touched: readonly TouchedTrace[]): string => `
  with touched (organizations, trace_ids, first_days, last_days) as (
    select ${toArguments(touched)}
  )
  select one.organization, replace(one.trace_id::text, '-', '')
  from touched,
    unnest(organizations::text[], trace_ids::uuid[]) as one (organization, trace_id)
  join traces using (organization, trace_id)
  where exists (
    select from cold_files as file
    where file.organization = traces.organization
      and file.day between (first_start at time zone 'UTC')::date
        and (last_start at time zone 'UTC')::date
      and traces.trace_id between first_trace and last_trace
      and not exists (
        select from restored_traces as restored
        where restored.day = file.day and restored.organization = file.organization
          and restored.trace_id = traces.trace_id
          and restored_at > now() - interval '10 minutes'
      )
  )`

const HAS_ARCHIVED = 'select from archived_files limit 1'

/**
 * Notes traces anew of which spans are in files: they are rolled up once these have been brought
 * back, and the others at once.
 */
export async function setArchivedAside(
  session: Session,
  touched: readonly TouchedTrace[],
): Promise<SortedTraces> {
  if (touched.length === 0 || (await session.query(HAS_ARCHIVED)) === 'SELECT 0')
    return { whole: touched, archived: [] }
  const rows = await session.rows(FIND(touched))
  const found = new Set(rows.map(([organization, traceId]) => `${traceId} ${organization}`))
  const isArchived = ({ traceId, organization }: TouchedTrace): boolean =>
    found.has(`${traceId} ${organization}`)
  const archived = touched.filter(isArchived)
  for (const { organization, traceId, firstDay, lastDay } of archived) {
    await session.query(`
      insert into touched_traces (organization, day, trace_ids)
      select ${quote(organization)}, day, '\\x${traceId}'
      from unnest(array[${quote(firstDay)}, ${quote(lastDay)}]::date[]) as day`)
  }
  return { whole: touched.filter((one) => !isArchived(one)), archived }
}
