import type { GroupedTotals, TraceUsage } from '../../../shared/trace-answers/lists.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'
import type { AutomationName } from './list-page.ts'
import { WITHOUT_REQUESTS } from './list-query.ts'

/** By what usage is shown. */
export const GROUPINGS = {
  day: 'Day',
  model: 'Model',
  crew: 'Automation',
  user: 'User',
} as const
/** Something that usage is shown by. */
export type Grouping = keyof typeof GROUPINGS
/** All of them, in the order of the page. */
export const GROUPING_NAMES = [
  'day',
  'model',
  'crew',
  'user',
] as const satisfies readonly Grouping[]

/** What the calls of models in a group add up to. */
export interface UsageRow {
  /** As people know it. */
  readonly name: string
  /** Traces that start in the group; null of a model, which has only a part of them. */
  readonly traces: number | null
  readonly calls: number
  /** Calls that failed; of a user, traces that did. */
  readonly failed: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null where the cost of nothing is known. */
  readonly costUsd: number | null
  /** Calls without a price; 0 of a user, of whom that is not known. */
  readonly unpriced: number
  /** Milliseconds of a call; of a user, of a trace. */
  readonly p50: number | null
  readonly p95: number | null
}

/** What is asked of usage. */
interface UsageQuestion {
  readonly by: Grouping
  readonly from: Date
}

type Calls = TraceUsage['groups'][number]
type Traces = GroupedTotals['groups'][number]

/** Reads the groups, each with its name. Calls know no user: users are those of traces. */
export async function readUsageRows(
  reader: TraceReader,
  { by, from }: UsageQuestion,
  automations: readonly AutomationName[],
): Promise<UsageRow[]> {
  const asked = { by, from: from.toISOString() }
  const parameters = new URLSearchParams({ ...asked, ...WITHOUT_REQUESTS })
  if (by === 'user') {
    const { groups } = await reader.groupedTotals(parameters)
    return groups.map(ofUser)
  }
  const [{ groups }, traces] = await Promise.all([
    reader.usage(new URLSearchParams(asked)),
    by === 'model' ? undefined : countTraces(reader, parameters, by),
  ])
  return groups.map((group) => {
    const key = keyOf(group, by)
    return ofCalls(group, nameOf(key, by, automations), traces ? (traces.get(key) ?? 0) : null)
  })
}

async function countTraces(
  reader: TraceReader,
  parameters: URLSearchParams,
  by: 'day' | 'crew',
): Promise<ReadonlyMap<string, number>> {
  const { groups } = await reader.groupedTotals(parameters)
  return new Map(groups.map((group) => [group[by] ?? '', group.traces]))
}

/** A day without its time. */
const keyOf = (group: Calls, by: Exclude<Grouping, 'user'>): string =>
  by === 'day' ? (group.day ?? '').slice(0, 10) : (group[by] ?? '')

function nameOf(
  key: string,
  by: Exclude<Grouping, 'user'>,
  automations: readonly AutomationName[],
): string {
  if (by !== 'crew') return key || '(unknown)'
  return automations.find(({ automationId }) => automationId === key)?.name ?? (key || '(none)')
}

const ofCalls = (group: Calls, name: string, traces: number | null): UsageRow => ({
  name,
  traces,
  calls: group.calls,
  failed: group.errors,
  inputTokens: group.tokens.input,
  outputTokens: group.tokens.output,
  costUsd: group.cost_usd,
  unpriced: group.unpriced,
  ...group.duration_ms,
})

const ofUser = (group: Traces): UsageRow => ({
  name: group.user ?? '',
  traces: group.traces,
  calls: group.llm_calls,
  failed: group.error,
  inputTokens: group.tokens.input,
  outputTokens: group.tokens.output,
  costUsd: group.cost_usd,
  unpriced: 0,
  ...group.duration_ms,
})
