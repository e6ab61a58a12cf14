import { KEY_COLUMNS, SPAN_COLUMNS } from '../../otlp/span-columns.ts'

const columns = SPAN_COLUMNS.join(', ')
const keys = KEY_COLUMNS.join(', ')
const replaced = SPAN_COLUMNS.filter((column) => !KEY_COLUMNS.includes(column))
/** As the rows of a batch are sorted: texts by their bytes, whatever the collation. */
const order = KEY_COLUMNS.map((column) =>
  column === 'organization' ? `${column} collate "C"` : column,
).join(', ')
const assignments = replaced.map((column) => `${column} = excluded.${column}`).join(', ')

/** The fast way: straight into the table. It fails as a whole when one span is there already. */
export const COPY_SPANS = `copy spans (${columns}) from stdin (format binary)`

/** The careful way, in one transaction: create, copy, merge. */
export const CREATE_INCOMING = 'create temp table incoming (like spans) on commit drop'
/** The copy of the careful way. */
export const COPY_INCOMING = `copy incoming (${columns}) from stdin (format binary)`

/** The condition under which a span takes the place of the stored one with its identity. */
export const replaces = (given: string, stored: string): string =>
  `(${stored}.duration_ns is null and ${given}.duration_ns is not null)
    or (${given}.duration_ns, ${given}.start_ns) > (${stored}.duration_ns, ${stored}.start_ns)`

/**
 * Of spans with one identity the one that ends last stays; equal ones change nothing. The order
 * keeps two replicas that merge the same spans from waiting for each other in a circle. Finds the
 * number of spans that were stored: on Citus the command tag has the number of those that came.
 */
export const MERGE_INCOMING = `
  with stored as (
    insert into spans (${columns})
    select distinct on (${order}) ${columns} from incoming
    order by ${order}, duration_ns desc nulls last, start_ns desc
    on conflict (${keys}) do update set ${assignments}
    where ${replaces('excluded', 'spans')}
    returning 1
  )
  select count(*) from stored`
