import * as v from 'valibot'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { TraceUsage } from '../../../shared/trace-answers/lists.ts'
import {
  COST_COLUMNS,
  DURATION_BOUNDS_MS,
  MEASURES,
  TOKEN_COLUMNS,
} from '../../store/roll-ups/measures.ts'
import { invalid, name, readParameters, time } from '../read-query.ts'
import type { Reader } from '../reader.ts'
import type { Fragment } from './sql-parts.ts'
import { inRange, tokensOf } from './listed-trace.ts'
import type { TokenCounts } from './listed-trace.ts'
import { quantilesOf } from './quantiles.ts'
import { limitTo, requireTimeRange } from './trace-filter.ts'
import type { OfOrganization } from './trace-filter.ts'

const HOUR_MS = 3_600_000
/** Groups at the most. */
const MAX_GROUPS = 5000

/** By what calls are grouped, in SQL; days are those of UTC. */
const GROUPS = {
  hour: 'hour',
  day: `date_trunc('day', hour, 'UTC')`,
  organization: 'organization',
  crew: 'crew_id',
  model: 'model',
} as const

type Group = keyof typeof GROUPS
const isGroup = (word: string): word is Group => Object.hasOwn(GROUPS, word)

const groups = v.pipe(
  v.string(),
  v.transform((list) => list.split(',')),
  v.check(
    (list) => list.every(isGroup) && new Set(list).size === list.length,
    `must be a list of ${Object.keys(GROUPS).join(', ')}, each once at the most`,
  ),
  v.transform((list) => list.filter(isGroup)),
)

/** Roll-ups are by the hour, so a part of one is not known. */
const hour = v.pipe(
  time,
  v.check((given) => given.getTime() % HOUR_MS === 0, 'must be at a whole hour of UTC'),
)

const usageParameters = v.object({
  crew: v.optional(name),
  model: v.optional(name),
  from: v.optional(hour),
  to: v.optional(hour),
  by: v.optional(groups),
})

type UsageQuery = Readonly<v.InferOutput<typeof usageParameters>> & OfOrganization

/** Raises `invalid_request`. */
export function readUsageQuery(parameters: URLSearchParams): UsageQuery {
  const query = readParameters(usageParameters, parameters)
  requireTimeRange(query, parameters)
  return query
}

interface Row extends TokenCounts {
  readonly calls: number
  readonly errors: number
  readonly costUsd: number
  readonly reportedCostUsd: number
  readonly computedCostUsd: number
  readonly unpriced: number
  readonly keys: string[]
  /** Calls by duration, in the order of the ranges. */
  readonly durations: string[]
}

/** The totals of calls, in the order of their groups. Raises `invalid_request` for too many. */
export async function sumUsage(reader: Reader, query: UsageQuery): Promise<TraceUsage> {
  const rows = await reader.ask((sql) => listGroups(sql, limitTo(reader, query)))
  if (rows.length > MAX_GROUPS) {
    throw invalid('by', `by makes more than ${MAX_GROUPS} groups; narrow them with from and to.`)
  }
  return { groups: rows.map((row) => toGroup(row, query.by ?? [])) }
}

const DURATIONS = [...DURATION_BOUNDS_MS, Infinity]

const toGroup = (row: Row, by: readonly Group[]): TraceUsage['groups'][number] => ({
  ...Object.fromEntries(by.map((group, i) => [group, row.keys[i]])),
  calls: row.calls,
  errors: row.errors,
  tokens: tokensOf(row),
  cost_usd: row.costUsd,
  reported_cost_usd: row.reportedCostUsd,
  computed_cost_usd: row.computedCostUsd,
  unpriced: row.unpriced,
  duration_ms: quantilesOf(
    DURATIONS.map((toMs, i) => ({
      fromMs: DURATIONS[i - 1] ?? 0,
      toMs,
      count: Number(row.durations[i]),
    })),
  ),
})

const COLUMNS = ['calls', 'errors', ...TOKEN_COLUMNS, ...COST_COLUMNS, 'unpriced']
const SUMS = COLUMNS.map((column) => `${inRange(`coalesce(sum(${column}), 0)`)} as ${column}`).join(
  ', ',
)
const COUNTS = MEASURES.map(({ column }) => column)
  .filter((column) => column.endsWith('_ms'))
  .map((column) => `coalesce(sum(${column}), 0)::int8`)
  .join(', ')

function listGroups(sql: Queryable, query: UsageQuery): Promise<Row[]> {
  const by = query.by ?? []
  const keys = by.map((group) =>
    group === 'hour' || group === 'day'
      ? `to_char(${GROUPS[group]} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
      : GROUPS[group],
  )
  const grouping = by.length > 0 ? `group by ${by.map((group) => GROUPS[group]).join(', ')}` : ''
  const order = by.length > 0 ? `order by ${by.map((group) => GROUPS[group]).join(', ')}` : ''
  return sql<Row[]>`
    select array[${sql.unsafe(keys.join(', '))}]::text[] as keys, ${sql.unsafe(SUMS)},
      array[${sql.unsafe(COUNTS)}] as durations
    from listed_usage
    where ${conditions(sql, query)} ${sql.unsafe(grouping)} ${sql.unsafe(order)}
    limit ${MAX_GROUPS + 1}`
}

function conditions(sql: Queryable, { organization, crew, model, from, to }: UsageQuery): Fragment {
  const columns = { organization, crew_id: crew, model }
  return sql`
    true ${Object.entries(columns).map(([column, value]) =>
      value === undefined ? sql`` : sql`and ${sql(column)} = ${value}`,
    )}
    ${from ? sql`and hour >= ${from.toISOString()}::text::timestamptz` : sql``}
    ${to ? sql`and hour < ${to.toISOString()}::text::timestamptz` : sql``}`
}
