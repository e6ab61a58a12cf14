import type { Database } from '../../../../services/shared/postgres/database.ts'

/** A span, as far as the roll-ups look at it. */
interface StoredSpan {
  readonly organization: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly startUs: string
  readonly durationNs: string | null
  readonly status: number
  readonly llmCall: boolean
  readonly model: string | null
  readonly crewId: string | null
  readonly agent: string | null
  readonly inputTokens: string | null
  readonly costUsd: number | null
}

interface RolledTrace {
  readonly organization: string
  readonly traceId: string
  readonly startUs: string
  readonly status: string
  readonly spans: number
  readonly errorSpans: number
  readonly llmCalls: number
  readonly inputTokens: number
  readonly cents: number | null
  readonly crewId: string | null
  readonly agents: readonly string[]
  readonly models: readonly string[]
}

/** Sums of calls by `hour organization crew model`. */
type RolledUsage = Readonly<Record<string, readonly number[]>>

interface RollUps {
  readonly traces: readonly RolledTrace[]
  readonly usage: RolledUsage
}

/** What the roll-ups hold. */
export async function readRollUps(sql: Database): Promise<RollUps> {
  const traces = await sql<RolledTrace[]>`
    select organization, trace_id, status,
      (extract(epoch from start_time) * 1000000)::int8 as start_us,
      spans::int as spans, error_spans::int as error_spans, llm_calls::int as llm_calls,
      input_tokens::float8 as input_tokens,
      round(reported_cost_usd * 100)::int as cents, crew_id, agents, models
    from traces order by organization, trace_id`
  const rows = await sql<{ key: string; sums: number[] }[]>`
    select concat_ws(' ', (extract(epoch from hour) / 3600)::int, organization, crew_id, model)
        as key,
      array[calls, errors, input_tokens, round(reported_cost_usd, 6) * 1000000,
        duration_us,
        up_to_125_ms + up_to_250_ms + up_to_500_ms + up_to_1000_ms + up_to_2000_ms + up_to_4000_ms
          + up_to_8000_ms + up_to_16000_ms + up_to_32000_ms + up_to_64000_ms + up_to_128000_ms
          + above_128000_ms]::int8[] as sums
    from usage_hourly order by key`
  const usage = Object.fromEntries(rows.map(({ key, sums }) => [key, sums.map(Number)]))
  return { traces: traces.map((trace) => ({ ...trace })), usage }
}

/** What they should hold, from the spans. */
export async function recomputeRollUps(sql: Database): Promise<RollUps> {
  const spans = await sql<StoredSpan[]>`
    select organization, trace_id, span_id, parent_span_id,
      (extract(epoch from start_time) * 1000000)::int8 as start_us, duration_ns, status, llm_call,
      coalesce(request_model, response_model) as model, crew_id, agent, input_tokens, cost_usd
    from spans order by organization, trace_id, start_time, span_id`
  const traces: RolledTrace[] = []
  const usage: Record<string, number[]> = {}
  const byTrace = new Map<string, StoredSpan[]>()
  for (const span of spans) {
    const list = byTrace.get(keyOf(span)) ?? []
    byTrace.set(keyOf(span), list)
    list.push(span)
  }
  for (const list of byTrace.values()) {
    const trace = toTrace(list)
    traces.push(trace)
    for (const call of countedCalls(list)) addCall(usage, call, trace)
  }
  const sorted = Object.entries(usage).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { traces, usage: Object.fromEntries(sorted) }
}

const keyOf = ({ organization, traceId }: StoredSpan): string => `${organization} ${traceId}`

function toTrace(spans: readonly StoredSpan[]): RolledTrace {
  const root = spans.find(({ parentSpanId }) => parentSpanId === null)
  const first = root ?? spans[0]
  const calls = countedCalls(spans)
  const priced = calls.flatMap((call) => reportedCost(call) ?? [])
  return {
    organization: first?.organization ?? '',
    traceId: first?.traceId ?? '',
    startUs: first?.startUs ?? '',
    status: statusOf(root),
    spans: spans.length,
    errorSpans: spans.filter(({ status }) => status === 2).length,
    llmCalls: calls.length,
    inputTokens: sum(calls.map(countedTokens)),
    cents: priced.length > 0 ? Math.round(sum(priced) * 100) : null,
    crewId: first?.crewId ?? words(spans.map(({ crewId }) => crewId))[0] ?? null,
    agents: words(spans.map(({ agent }) => agent)),
    models: words(calls.map(({ model }) => model)),
  }
}

/** Of a call no less than none and no more than half a billion tokens count. */
const countedTokens = ({ inputTokens }: StoredSpan): number =>
  Math.min(Math.max(Number(inputTokens ?? 0), 0), 500_000_000)

/** A cost of 0 with tokens is not known. */
const reportedCost = (call: StoredSpan): number | undefined =>
  call.costUsd === null || (call.costUsd === 0 && hasTokens(call)) ? undefined : call.costUsd

function statusOf(root: StoredSpan | undefined): string {
  if (!root) return 'incomplete'
  if (root.status === 2) return 'error'
  return root.durationNs === null ? 'running' : 'ok'
}

const words = (list: readonly (string | null)[]): string[] =>
  [...new Set(list.filter((one) => one !== null))].toSorted()

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

/**
 * The calls that count, by looking up from each: those with tokens that are above no other one with
 * tokens, and those without that are above none, and below none with tokens unless they failed.
 */
function countedCalls(spans: readonly StoredSpan[]): StoredSpan[] {
  const calls = spans.filter(({ llmCall }) => llmCall)
  const aboveTokens = new Set(calls.filter(hasTokens).flatMap((call) => [...above(call, spans)]))
  const aboveAny = new Set(calls.flatMap((call) => [...above(call, spans)]))
  const withTokens = new Set(calls.filter(hasTokens).map(({ spanId }) => spanId))
  const counts = (call: StoredSpan): boolean => {
    if (hasTokens(call)) return !aboveTokens.has(call.spanId)
    const twins = spans.filter(({ spanId }) => spanId === call.spanId)
    const isBelow = twins.some((twin) => [...above(twin, spans)].some((id) => withTokens.has(id)))
    return !aboveAny.has(call.spanId) && (call.status === 2 || !isBelow)
  }
  // An id that was given twice is left out when both of its spans are.
  const counted = new Set(calls.filter(counts).map(({ spanId }) => spanId))
  return calls.filter(({ spanId }) => counted.has(spanId))
}

const hasTokens = ({ inputTokens }: StoredSpan): boolean => Number(inputTokens ?? 0) > 0

/** The ids above a span; of spans in a circle its own, too. */
function above({ parentSpanId }: StoredSpan, spans: readonly StoredSpan[]): Set<string> {
  const found = new Set<string>()
  const waiting = [parentSpanId]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === null || found.has(id)) continue
    found.add(id)
    for (const span of spans) if (span.spanId === id) waiting.push(span.parentSpanId)
  }
  return found
}

function addCall(usage: Record<string, number[]>, call: StoredSpan, trace: RolledTrace): void {
  const hour = Math.floor(Number(call.startUs) / 3_600_000_000)
  const key = `${hour} ${trace.organization} ${trace.crewId ?? ''} ${call.model ?? ''}`
  const ended = call.durationNs === null ? 0 : 1
  const adds = [
    1,
    Number(call.status === 2),
    countedTokens(call),
    Math.round((call.costUsd ?? 0) * 1_000_000),
    Math.floor(Number(call.durationNs ?? 0) / 1000),
    ended,
  ]
  const before = usage[key] ?? adds.map(() => 0)
  usage[key] = adds.map((add, index) => add + (before[index] ?? 0))
}

/** Traces and hours whose roll-ups are not what their spans add up to. */
export async function countWrongRollUps(sql: Database): Promise<number> {
  const stored = linesOf(await readRollUps(sql))
  const right = linesOf(await recomputeRollUps(sql))
  return [
    ...[...stored].filter((line) => !right.has(line)),
    ...[...right].filter((line) => !stored.has(line)),
  ].length
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

const linesOf = ({ traces, usage }: RollUps): Set<string> =>
  new Set([
    ...traces.map((trace) => JSON.stringify(Object.entries(trace).toSorted(byName))),
    ...Object.entries(usage).map((sums) => JSON.stringify(sums)),
  ])
