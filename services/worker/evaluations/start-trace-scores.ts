import { createHash } from 'node:crypto'
import { hasRoom } from '../../platform/budgets/budget-outside.ts'
import { makeCheck, stateOf } from '../../platform/evaluations/checks.ts'
import type { Check, Finding, Performed } from '../../platform/evaluations/checks.ts'
import type { ScoreResult } from '../../platform/evaluations/run-scores.ts'
import {
  keepTraceScore,
  listKnownTraces,
  releaseTraceRule,
  takeTraceRules,
} from '../../platform/evaluations/trace-scores.ts'
import type { TakenTraceRule } from '../../platform/evaluations/trace-scores.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'
import { toError } from '../../shared/errors.ts'
import { startLoop } from '../run/loop.ts'
import type { LoopSignals } from '../run/loop.ts'
import { askJudge, isPriced } from './ask-judge.ts'
import type { AloneDeps } from './perform-alone.ts'
import { openForeignTraces } from './read-traces.ts'
import type { ForeignTraces, ListedTrace, SaidInTrace } from './read-traces.ts'
import { unasked } from './start-scores.ts'

const CONCURRENCY = 1
/** Spans of a trace that is over may arrive for so long. */
const QUIET_MS = 30_000
/** Traces that start before, and end only now, are looked at again. */
const LATE_MS = 15 * 60_000
const PAGE_SIZE = 100
/** Then the rule waits for its next turn, behind others. */
const PAGES_MAX = 10

interface TraceScoresDeps extends AloneDeps {
  readonly collector: CollectorPlace | undefined
}

/** Scores traces that other programs sent, for as long as it runs; none without a collector. */
export function startTraceScores(deps: TraceScoresDeps) {
  const { sql, log, collector } = deps
  const loop = startLoop<TakenTraceRule>({
    take: async (limit) => (collector ? takeTraceRules(sql, limit) : []),
    async run(rule, signals) {
      if (!collector) return
      try {
        const traces = openForeignTraces(collector, rule.organizationId, signals.drain)
        const until = await lookAt({ deps, rule, traces }, signals)
        await releaseTraceRule(sql, rule, until ? { until } : {})
      } catch (thrown) {
        const problem = toError(thrown).message
        if (!signals.drain.aborted) log.warn({ reason: problem }, 'traces are scored later')
        await releaseTraceRule(sql, rule, signals.drain.aborted ? {} : { problem })
      }
    },
    putBack: (rule) => releaseTraceRule(sql, rule, {}),
    concurrency: CONCURRENCY,
    log,
  })
  return { wake: loop.wake, stop: (drainMs: number) => loop.stop(drainMs) }
}

interface Look {
  readonly deps: TraceScoresDeps
  readonly rule: TakenTraceRule
  readonly traces: ForeignTraces
}

/** Scores the traces since the last look. Returns up to which start all were looked at, if any. */
async function lookAt(look: Look, signals: LoopSignals): Promise<Date | undefined> {
  const { rule, traces } = look
  const now = Date.now()
  const query = new URLSearchParams({
    sort: 'oldest',
    limit: String(PAGE_SIZE),
    platform_requests: 'hidden',
    from: new Date(rule.from.getTime()).toISOString(),
    ...(rule.service === null ? {} : { service: rule.service }),
  })
  let until: Date | undefined
  for (let pages = 0; pages < PAGES_MAX && !signals.pause.aborted; pages += 1) {
    const { traces: listed, next_cursor: next } = await traces.list(query)
    await scorePage(look, listed, signals)
    const last = listed.at(-1)
    if (last) until = new Date(Math.min(Date.parse(last.started_at), now - LATE_MS))
    if (next === null) return new Date(now - LATE_MS)
    query.set('cursor', next)
  }
  return until
}

async function scorePage(
  { deps, rule, traces }: Look,
  listed: readonly ListedTrace[],
  signals: LoopSignals,
): Promise<void> {
  const { organizationId, share } = rule
  const chosen = listed.filter((each) => hasEnded(each) && isOfShare(each.trace_id, share))
  const ids = chosen.map(({ trace_id: id }) => id)
  const known = await listKnownTraces(deps.sql, organizationId, ids)
  for (const trace of chosen) {
    const { trace_id: traceId } = trace
    if (known.has(traceId) || isRun(trace) || signals.pause.aborted) continue
    const said = await traces.read(trace)
    const score = said
      ? await makeScore(deps, { rule, trace, said }, signals)
      : { state: 'error' as const, reason: 'The trace has no answer.', findings: [] }
    await keepTraceScore(deps.sql, { organizationId, traceId }, score)
  }
}

/** Failures have no output to check: alerts and the list of traces have them. */
const hasEnded = ({ status, ended_at: endedAt }: ListedTrace): boolean =>
  status === 'ok' && endedAt !== null && Date.parse(endedAt) < Date.now() - QUIET_MS

/** A run has its own score, also once it is deleted. */
const isRun = ({ trace_id: id, kickoff_id: run }: ListedTrace): boolean =>
  run !== null && run.replaceAll('-', '') === id

/** The same traces each time, whatever their ids are made of. */
const isOfShare = (traceId: string, share: number): boolean =>
  createHash('sha256').update(traceId).digest().readUInt32BE() % 100 < share

interface Scored {
  readonly rule: TakenTraceRule
  readonly trace: ListedTrace
  readonly said: SaidInTrace
}

async function makeScore(
  deps: AloneDeps,
  { rule, trace, said }: Scored,
  signals: LoopSignals,
): Promise<ScoreResult> {
  const { tokens, duration_ms: ms, cost_usd: usd } = trace
  const made: Performed = {
    output: said.output,
    tools: said.tools,
    tokens: tokens.input + tokens.output,
    usd,
    seconds: (ms ?? 0) / 1000,
  }
  const findings: Finding[] = []
  for (const check of rule.checks) {
    findings.push(
      check.type === 'judge'
        ? await judge(deps, { rule, said, check }, signals)
        : makeCheck(check, null, made),
    )
  }
  return { ...stateOf(findings), findings }
}

interface Judged extends Pick<Scored, 'rule' | 'said'> {
  readonly check: Extract<Check, { type: 'judge' }>
}

async function judge(
  deps: AloneDeps,
  { rule, said, check }: Judged,
  signals: LoopSignals,
): Promise<Finding> {
  const { organizationId, url, crewAutomationId, leaseId, checks } = rule
  if (url === null || crewAutomationId === null) {
    return unasked('The platform has no Runner, which asks judges.')
  }
  const of = { organizationId, deploymentId: null, checks }
  if (!(await hasRoom(deps.sql, { ...of, isPriced: isPriced(deps, of) }))) {
    return unasked('A budget is used up, or limits money and a model has no price.')
  }
  const judged = { inputs: { input: said.input }, expected: null, output: said.output }
  const alone = { id: leaseId, organizationId, url, crewAutomationId, inputs: {} }
  return askJudge(deps, { ...alone, check, judged, of }, signals)
}
