import type { Transaction } from '../../shared/postgres/database.ts'
import { readTraceQuery } from '../../shared/trace-answers/measures.ts'
import type { TraceMeasure, TraceQuestion } from '../../shared/trace-answers/measures.ts'
import type { Found } from './next-standing.ts'
import type { Watched } from './watches.ts'

/** Asks the collector what traces add up to, those that ended before a time. */
export type MeasureTraces = (
  questions: readonly TraceQuestion[],
  at: Date,
) => Promise<readonly TraceMeasure[]>

/** A rule over traces that is looked at. */
interface TraceRule {
  readonly id: string
  readonly organizationId: number
  readonly watches: Watched
  readonly windowMinutes: number
  readonly filter: string
}

type Worst = NonNullable<TraceQuestion['worst']>

interface Measured {
  readonly valueOf: (measure: TraceMeasure) => number | null
  readonly worst: Worst
}

const by = (worst: Worst, valueOf: Measured['valueOf']): Measured => ({ valueOf, worst })

/** What of a measure rules watch, and by what the worst traces are chosen. */
const MEASURED: Readonly<Partial<Record<Watched, Measured>>> = {
  trace_failure_share: by('failed', (found) => found.failure_share),
  trace_duration_median: by('duration', ({ duration: [median] }) => median),
  trace_duration_p95: by('duration', ({ duration: [, p95] }) => p95),
  tokens_per_trace: by('tokens', (found) => found.tokens_per_trace),
  trace_tokens_total: by('tokens', (found) => found.tokens_total),
  cost_per_trace: by('cost', (found) => found.cost_per_trace),
  trace_cost_total: by('cost', (found) => found.cost_total),
}

/** Rules that ask the same of the same traces share a question. */
async function ask(
  rules: readonly TraceRule[],
  { measure, at, isOfWorst }: { measure: MeasureTraces; at: Date; isOfWorst: boolean },
): Promise<ReadonlyMap<string, TraceMeasure>> {
  const questions = new Map<string, { question: TraceQuestion; ids: string[] }>()
  for (const { id, organizationId, watches, windowMinutes, filter } of rules) {
    const worst = MEASURED[watches]?.worst
    if (worst === undefined) continue
    const question = {
      organization: String(organizationId),
      window_minutes: windowMinutes,
      terms: readTraceQuery(filter).terms,
      ...(isOfWorst ? { worst } : {}),
    }
    const key = JSON.stringify(question)
    const known = questions.get(key)
    if (known) known.ids.push(id)
    else questions.set(key, { question, ids: [id] })
  }
  // Those of an organization stand together: a call then reads the traces of few.
  const asked = [...questions.values()].toSorted((a, b) =>
    a.question.organization.localeCompare(b.question.organization),
  )
  const found =
    asked.length > 0
      ? await measure(
          asked.map(({ question }) => question),
          at,
        )
      : []
  return new Map(
    found.flatMap((each) => (asked[each.question]?.ids ?? []).map((id) => [id, each] as const)),
  )
}

/** Measures what rules over traces watch. Those without a trace are not in the result. */
export async function measureTraceAlerts(
  tx: Transaction,
  due: readonly TraceRule[],
  { measure, at }: { readonly measure: MeasureTraces; readonly at: Date },
): Promise<ReadonlyMap<string, Found>> {
  const measures = await ask(due, { measure, at, isOfWorst: false })
  const found = new Map<string, Found>()
  for (const { id, watches } of due) {
    const seen = measures.get(id)
    if (!seen) continue
    found.set(id, { value: MEASURED[watches]?.valueOf(seen) ?? 0, samples: seen.traces })
  }
  const scored = await tx<(Found & { id: string })[]>`
    select r.id, count(*)::int as samples,
      (100.0 * count(*) filter (where s.state = 'failed') / count(*))::float8 as value
    from alerts r join trace_scores s on s.organization_id = r.organization_id
      and s.state in ('passed', 'failed') and s.scored_at <= ${at}::timestamptz
      and s.scored_at > ${at}::timestamptz - make_interval(mins => r.window_minutes)
    where r.watches = 'trace_failed_scores' and r.id = any(${due.map(({ id }) => id)}::uuid[])
    group by r.id`
  for (const { id, ...rest } of scored) found.set(id, rest)
  return found
}

/** Returns the worst five traces of what each of some alerts watches, by the ids of the alerts. */
export async function listWorstTraces(
  tx: Transaction,
  alerts: readonly TraceRule[],
  { measure, at }: { readonly measure: MeasureTraces; readonly at: Date },
): Promise<ReadonlyMap<string, unknown>> {
  const measures = await ask(alerts, { measure, at, isOfWorst: true })
  const worst = new Map(
    [...measures].map(([id, each]) => [id, each.worst.map((trace) => ({ trace_id: trace }))]),
  )
  const scored = await tx<{ id: string; traces: { trace_id: string }[] }[]>`
    select r.id, jsonb_agg(jsonb_build_object('trace_id', w.trace_id)
      order by w.scored_at desc, w.trace_id) as traces
    from alerts r cross join lateral (
      select s.trace_id, s.scored_at from trace_scores s
      where s.organization_id = r.organization_id and s.state = 'failed'
        and s.scored_at <= ${at}::timestamptz
        and s.scored_at > ${at}::timestamptz - make_interval(mins => r.window_minutes)
      order by s.scored_at desc, s.trace_id limit 5) w
    where r.watches = 'trace_failed_scores' and r.id = any(${alerts.map(({ id }) => id)}::uuid[])
    group by r.id`
  for (const { id, traces } of scored) worst.set(id, traces)
  return worst
}
