import type { RunFilter } from '../../../platform/runs/run-list.ts'
import { RUN_STATUSES, TRIGGERS } from '../../../platform/runs/runs.ts'
import { readDay, readText } from '../frame/lists/filter-bar.ts'
import { withTerms } from '../frame/lists/query-terms.ts'
import type { QueryKeys } from '../frame/lists/query-terms.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { RUN_COLUMNS } from '../frame/lists/runs-table.ts'
import type { RunColumn } from '../frame/lists/runs-table.ts'

/** The filter that an address of the list asks for. */
export interface RunsQuery extends Omit<RunFilter, 'organizationId' | 'deploymentId'> {
  /** In inputs and outputs. */
  readonly text?: string | undefined
  /** The columns that are shown; undefined: those that have something to say. */
  readonly columns?: readonly RunColumn[] | undefined
}

/** What may be typed beside a text, and the fields that it sets. */
export const RUN_KEYS: QueryKeys = {
  equal: {
    status: 'status',
    trigger: 'trigger',
    automation: 'automation',
    by: 'by',
    since: 'since',
    until: 'until',
  },
  above: {},
}

/** Reads the filter of an address; what the list does not understand is left out. */
export function readRunsQuery(given: URLSearchParams): RunsQuery {
  const address = withTerms(given, RUN_KEYS)
  const text = (name: string): string | undefined => readText(address.get(name) ?? undefined)
  const named = address.getAll('columns').flatMap((each) => each.split(','))
  const columns = RUN_COLUMNS.filter((each) => named.includes(each))
  return {
    status: RUN_STATUSES.find((each) => each === address.get('status')),
    trigger: TRIGGERS.find((each) => each === address.get('trigger')),
    automation: text('automation'),
    starter: text('by'),
    text: text('text'),
    since: readDay(address.get('since') ?? undefined),
    until: readDay(address.get('until') ?? undefined),
    ...(columns.length > 0 ? { columns } : {}),
  }
}

/** Returns the filter as the parameters of an address have it. */
export const parametersOf = ({ starter, columns, ...query }: RunsQuery) => ({
  ...query,
  by: starter,
  columns: columns?.join(','),
})

/** Returns the query of an address with what the list understands of it, in one order. */
export const queryTextOf = (address: URLSearchParams): string =>
  queryOf(parametersOf(readRunsQuery(address))).slice(1)
