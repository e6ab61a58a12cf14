import type { Booking } from '../../platform/budgets/budget-booking.ts'
import { LEASE_SECONDS, LOST_ATTEMPTS_MAX } from '../../platform/runs/run-queue.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import { loadJournal } from '../../platform/runs/run-steps.ts'
import { crewTokens } from '../../shared/crew-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { KeptConnections } from '../../shared/http/post-lines.ts'
import type { Log } from '../../shared/log.ts'
import { isDatabaseUnavailable } from '../../shared/postgres/failures.ts'
import { callCrew } from './call-crew.ts'
import type { Describe } from './describe-crew.ts'
import { DATABASE_UNAVAILABLE, failed } from './ending.ts'
import type { Ending, Outcome } from './ending.ts'
import type { HandFiles } from './hand-files.ts'
import { holdRun } from './hold-run.ts'
import type { Hold, HoldDeps, RunSignals } from './hold-run.ts'
import { openJournal } from './journal.ts'
import type { JournalEntry, JournalWriter } from './journal.ts'
import type { ProgressWriter } from './progress-writer.ts'
import { keepTokens } from './renew-tokens.ts'
import { resolveConnections } from './resolve-connections.ts'
import type { ConnectionDeps, ResolvedConnections } from './resolve-connections.ts'
import { resolveModels } from './resolve-models.ts'
import { nameConnection } from '../../platform/connections/connection-endpoint.ts'
import type { ModelDeps } from './resolve-models.ts'
import { retryStatement } from './retry-statement.ts'
import { openRunBudget } from './run-budget.ts'
import type { BudgetDeps, RunBudget } from './run-budget.ts'
import type { Tracing } from './run-trace.ts'
import { settleRun } from './settle-run.ts'
import type { TextRelay } from './text-relay.ts'

/** The attempts without a finished step after which an interrupted run ends with an error. */
const ATTEMPTS_MAX = 20

const NOTHING_DONE = { steps: [], advancedIn: 0 } as const
const NOT_DEPLOYED: RunFailure = {
  code: 'crew_not_deployed',
  message: 'The crew has no address: it was not deployed. Look at the status of its automation.',
}

/** The means by which a worker performs runs, the same for each run. */
export interface RunDeps extends ModelDeps, ConnectionDeps, HoldDeps, BudgetDeps {
  readonly log: Log
  readonly tracing: Tracing
  readonly progress: ProgressWriter
  /** The time in which an unavailable crew is tried again. */
  readonly crewPatienceMs: number
  readonly runTimeoutMs: number
  readonly handFiles: HandFiles
  /** @default asks crews each time */
  readonly describe?: Describe
  /** @default each run has a connection of its own to its crew */
  readonly pool?: KeptConnections
  readonly texts: Pick<TextRelay, 'attend' | 'pass'>
  /** Called each time that an unavailable crew is tried again. */
  readonly onCrewUnavailable?: () => void
  /** The time in which statements are repeated before the crew is called. @default the lease */
  readonly databasePatienceMs?: number
  /** The longest silence of a crew. @default 30_000 */
  readonly silenceMs?: number
}

/**
 * Performs one attempt at a run: calls its crew, writes down and traces what the crew reports, and
 * stores how it ended, for as long as this worker holds the run. Never raises.
 */
export async function performRun(
  deps: RunDeps,
  run: LeasedRun,
  signals: RunSignals,
): Promise<Outcome> {
  const { log, runTimeoutMs: timeoutMs } = deps
  const started = performance.now()
  const trace = deps.tracing.startRun(run)
  const journal = openJournal(deps, run)
  const budget = openRunBudget(deps, run)
  const hold = holdRun(deps, run, signals)
  const commit = committer(journal, hold)
  let advancedIn = run.attempt
  const followed = await follow()
  const ended = await journal.ended()
  const ending = ended ?? followed
  await budget.close()
  const outcome = ended?.outcome ?? (await settleRun(deps, run, { ending, ...signals }))
  hold.release()
  const failure = 'failure' in ending ? ending.failure : undefined
  trace.end({ failure, isOver: isOver(outcome, signals) })
  const facts = { kickoff_id: run.id, automation_id: run.automationId, attempt: run.attempt }
  const duration_ms = Math.round(performance.now() - started)
  log.info({ ...facts, outcome, error: failure?.code, duration_ms }, 'run ended')
  return outcome

  async function follow(): Promise<Ending> {
    try {
      return await deadline({ name: 'The run', timeoutMs, signal: hold.signal }, act)
    } catch (thrown) {
      return hold.ending() ?? limitAttempts(explain(thrown, deps, run), run, advancedIn)
    }
  }

  async function act(signal: AbortSignal): Promise<Ending> {
    const prepared = await prepare(deps, run, { budget, signal })
    if ('outcome' in prepared) return prepared
    advancedIn = prepared.advancedIn
    let refused = ''
    const ending = await callCrew({
      url: prepared.url,
      request: prepared.request,
      signal,
      pause: signals.pause,
      ...surroundings(deps, run, prepared.resolved),
      async onEvents(events) {
        for (const event of events) {
          trace.event(event, prepared.tierPrices)
          if (event.type === 'llm_call' && event.error) refused = event.request_model
        }
        const stop = await budget.follow(events, { commit, signal })
        if (journal.advanced()) advancedIn = run.attempt
        return stop
      },
    })
    const concluded = budget.conclude(ending, run.attempt - advancedIn)
    if (concluded.outcome !== 'error') return limitAttempts(concluded, run, advancedIn)
    return { ...concluded, failure: nameConnection(concluded.failure, prepared.names[refused]) }
  }
}

/** What a call has around its request and its events. */
const surroundings = (
  deps: RunDeps,
  run: LeasedRun,
  resolved: ResolvedConnections,
): Omit<Parameters<typeof callCrew>[0], 'url' | 'request' | 'signal' | 'pause' | 'onEvents'> => ({
  tokens: crewTokens(deps, run.crewAutomationId),
  withFiles: hasFiles(run) ? (use) => deps.handFiles({ runId: run.id }, use) : undefined,
  describe: deps.describe,
  pool: deps.pool,
  patienceMs: deps.crewPatienceMs,
  silenceMs: deps.silenceMs,
  onOpen(tell, ended) {
    keepTokens(deps, run, resolved)(tell, ended)
    deps.texts.attend(run.id, tell, ended)
  },
  onText: (delta) => deps.texts.pass(run.id, delta),
  onUnavailable(reason) {
    deps.onCrewUnavailable?.()
    deps.log.warn({ kickoff_id: run.id, reason }, 'the crew is unavailable; trying again')
  },
})

/** Commits events, or raises why the run is no longer this worker's. */
const committer =
  (journal: JournalWriter, hold: Hold) =>
  async (entry: JournalEntry, signal: AbortSignal): Promise<Booking | undefined> => {
    const appended = await journal.append(entry, signal)
    if (!appended) hold.lose()
    signal.throwIfAborted()
    return appended ? appended.booking : undefined
  }

/**
 * The kickoff of an attempt, and the last attempt before it in which a step finished; or the ending
 * of an attempt that cannot begin.
 */
async function prepare(
  deps: RunDeps,
  run: LeasedRun,
  { budget, signal }: { readonly budget: RunBudget; readonly signal: AbortSignal },
) {
  const { databasePatienceMs: forMs = LEASE_SECONDS * 1000 } = deps
  const patience = { forMs, signal }
  const loaded = await retryStatement(() => load(deps, run, signal), patience)
  if ('failure' in loaded) return { outcome: 'error', failure: loaded.failure } as const
  const idle = run.attempt - loaded.advancedIn
  return (await retryStatement(() => budget.open(idle), patience)) ?? loaded
}

async function load(deps: RunDeps, run: LeasedRun, signal: AbortSignal) {
  const { url } = run
  if (url === null) return { failure: NOT_DEPLOYED }
  const found = await resolveModels(deps, { ...run, batchedRun: run.id })
  if ('failure' in found) return found
  const { names, allowedRegions, tierPrices, ...models } = found
  const resolved = await resolveConnections(deps, { ...run, allowedRegions }, signal)
  if ('failure' in resolved) return resolved
  const { steps, advancedIn } = run.mayHaveSteps
    ? await loadJournal(deps.sql, run.id)
    : NOTHING_DONE
  const { id: kickoff_id, inputs, definition, projectVersionId: version } = run
  const journal = [...steps]
  const { connections } = resolved
  const tokens = Object.keys(connections).length === 0 ? {} : { connections }
  const request = { kickoff_id, inputs, definition, ...models, ...tokens, version, journal }
  // An organization's own come first: those without a budget are not among the others.
  const prices = tierPrices && [...tierPrices, ...deps.prices()]
  return { url, request, advancedIn, resolved, names, tierPrices: prices }
}

/** Returns true for a version that takes files. */
export const hasFiles = ({ definition: { inputs = [] } }: Pick<LeasedRun, 'definition'>): boolean =>
  inputs.some((each) => typeof each === 'object' && each.type === 'file')

/** A run whose lease was lost goes on elsewhere, unless somebody stopped it. */
function isOver(outcome: Outcome, { stopped }: RunSignals): boolean {
  return outcome === 'completed' || outcome === 'error' || stopped.aborted
}

function explain(thrown: unknown, { log, runTimeoutMs }: RunDeps, { id }: LeasedRun): Ending {
  if (thrown instanceof AppError && thrown.code === 'timeout') {
    const message = `The run took longer than ${runTimeoutMs / 1000} s and was ended.`
    return failed('execution_timeout', message)
  }
  if (isDatabaseUnavailable(thrown)) {
    log.warn({ reason: toError(thrown).message, kickoff_id: id }, 'the database is unavailable')
    return DATABASE_UNAVAILABLE
  }
  log.error({ err: toError(thrown), kickoff_id: id }, 'run failed inside the worker')
  return failed('internal', 'The worker failed. Its log has the details.')
}

/** Ends a run that breaks its crew, or is interrupted, at each attempt without getting on. */
function limitAttempts(
  ending: Ending,
  { attempt, lostAttempts }: LeasedRun,
  advancedIn: number,
): Ending {
  const { outcome } = ending
  const lost = advancedIn === attempt ? 0 : lostAttempts
  const isLast =
    (outcome === 'retried' && lost + 1 >= LOST_ATTEMPTS_MAX) ||
    (outcome === 'released' && attempt - advancedIn >= ATTEMPTS_MAX)
  return isLast ? { outcome: 'error', failure: ending.failure } : ending
}
