import { readDay, termsOf, withTerms } from '../../shared/query-terms.ts'
import type { QueryKeys } from '../../shared/query-terms.ts'
import { RUN_STATUSES, TRIGGERS } from './runs.ts'
import type { RunFilter } from './run-list.ts'

/** What may be typed beside a text where runs are looked for, and what it sets. */
export const RUN_KEYS: QueryKeys = {
  equal: {
    status: 'status',
    trigger: 'trigger',
    automation: 'automation',
    by: 'by',
    model: 'model',
    since: 'since',
    until: 'until',
  },
  above: { duration: 'min_duration_ms', tokens: 'min_tokens', cost: 'min_cost_usd' },
  words: { status: { failed: 'error' } },
}

/** What the language of query boxes says of runs. */
export type RunTerms = Omit<RunFilter, 'organizationId' | 'deploymentId'>

const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/
const TEXT_MAX = 100

/** The parameters of an address, each with its name in `RunTerms` and how it is read. */
const READERS = {
  status: ['status', (word: string) => RUN_STATUSES.find((each) => each === word)],
  trigger: ['trigger', (word: string) => TRIGGERS.find((each) => each === word)],
  automation: ['automation', textOf],
  by: ['starter', textOf],
  model: ['model', textOf],
  since: ['since', readDay],
  until: ['until', readDay],
  min_duration_ms: ['minDurationMs', amountOf],
  min_tokens: ['minTokens', amountOf],
  min_cost_usd: ['minCostUsd', amountOf],
} as const satisfies Readonly<
  Record<string, readonly [keyof RunTerms, (text: string) => string | number | undefined]>
>

function textOf(text: string): string | undefined {
  return (
    text
      .replaceAll(/\p{Cc}+/gu, ' ')
      .trim()
      .slice(0, TEXT_MAX) || undefined
  )
}

function amountOf(text: string): number | undefined {
  return AMOUNT.test(text) ? Number(text) : undefined
}

/** Reads what the parameters of an address say of runs; what is not understood is left out. */
export function readRunTerms(given: URLSearchParams): RunTerms {
  const address = withTerms(given, RUN_KEYS)
  return Object.fromEntries(
    Object.entries(READERS).map(([parameter, [name, read]]) => [
      name,
      read(address.get(parameter) ?? ''),
    ]),
  )
}

/** The names of the parameters of an address, by those in `RunTerms`. */
export const TERM_PARAMETERS: readonly (readonly [keyof RunTerms, string])[] = Object.entries(
  READERS,
).map(([parameter, [name]]) => [name, parameter])

/** Reads a text of the language, with the first thing in it that is not understood. */
export function readRunQuery(typed: string): {
  readonly terms: RunTerms
  readonly text: string
  readonly problem?: string
} {
  const { parameters, text } = termsOf(typed, RUN_KEYS)
  const terms = readRunTerms(new URLSearchParams(Object.fromEntries(parameters)))
  const known = new Map(Object.entries(terms))
  const wrong = TERM_PARAMETERS.find(
    ([name, parameter]) =>
      known.get(name) === undefined && parameters.some(([given]) => given === parameter),
  )
  if (wrong === undefined) return { terms, text }
  const [, parameter] = wrong
  const value = parameters.find(([given]) => given === parameter)?.[1].slice(0, TEXT_MAX) ?? ''
  return { terms, text, problem: `its ${parameter} cannot be ${JSON.stringify(value)}` }
}
