import { readRunTerms, RUN_KEYS, TERM_PARAMETERS } from '../../../platform/runs/run-terms.ts'
import type { RunTerms } from '../../../platform/runs/run-terms.ts'
import { withTerms } from '../../../shared/query-terms.ts'
import { readText } from '../frame/lists/filter-bar.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { RUN_COLUMNS } from '../frame/lists/runs-table.ts'
import type { RunColumn } from '../frame/lists/runs-table.ts'

/** The filter that an address of the list asks for. */
export interface RunsQuery extends RunTerms {
  /** In inputs and outputs. */
  readonly text?: string | undefined
  /** The columns that are shown; undefined: those that have something to say. */
  readonly columns?: readonly RunColumn[] | undefined
}

/** Reads the filter of an address; what the list does not understand is left out. */
export function readRunsQuery(address: URLSearchParams): RunsQuery {
  const named = address.getAll('columns').flatMap((each) => each.split(','))
  const columns = RUN_COLUMNS.filter((each) => named.includes(each))
  return {
    ...readRunTerms(address),
    text: readText(withTerms(address, RUN_KEYS).get('text') ?? undefined),
    ...(columns.length > 0 ? { columns } : {}),
  }
}

/** Returns the filter as the parameters of an address have it. */
export function parametersOf({ text, columns, ...terms }: RunsQuery) {
  const known = new Map(Object.entries(terms))
  const parameters = TERM_PARAMETERS.map(([name, parameter]) => {
    const value = known.get(name)
    return [parameter, value === undefined ? undefined : String(value)] as const
  })
  return {
    ...Object.fromEntries(parameters),
    status: terms.status,
    text,
    columns: columns?.join(','),
  }
}

/** Returns the text of a query box: with the keys that have no field of their own. */
export function typedOf({ model, minTokens, minDurationMs, minCostUsd, text }: RunsQuery): string {
  const keys = [
    model === undefined ? undefined : `model:${/\s/.test(model) ? `"${model}"` : model}`,
    minTokens === undefined ? undefined : `tokens>${minTokens}`,
    minDurationMs === undefined ? undefined : `duration>${minDurationMs}ms`,
    minCostUsd === undefined ? undefined : `cost>${minCostUsd}`,
  ]
  return [...keys, text].filter((each) => each !== undefined).join(' ')
}

/** Returns the query of an address with what the list understands of it, in one order. */
export const queryTextOf = (address: URLSearchParams): string =>
  queryOf(parametersOf(readRunsQuery(address))).slice(1)
