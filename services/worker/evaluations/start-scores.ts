import { hasRoom } from '../../platform/budgets/budget-outside.ts'
import { listOwnPrices } from '../../platform/budgets/model-prices.ts'
import { makeCheck, stateOf } from '../../platform/evaluations/checks.ts'
import type { Finding, Performed } from '../../platform/evaluations/checks.ts'
import { finishScore, putBackScore, takeScores } from '../../platform/evaluations/run-scores.ts'
import type { ScoreResult, TakenScore } from '../../platform/evaluations/run-scores.ts'
import { toError } from '../../shared/errors.ts'
import { costOfModels } from '../../shared/prices/find-price.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { startLoop } from '../run/loop.ts'
import type { LoopSignals } from '../run/loop.ts'
import { askJudge, isPriced } from './ask-judge.ts'
import type { AloneDeps } from './perform-alone.ts'

/** One run at a time, beside the runs of the queue. */
const CONCURRENCY = 1
/** How often a run is tried whose worker is lost. */
const ATTEMPTS_MAX = 3

/** Scores runs that ended, for as long as there are some, in a lane of their own. */
export function startScores(deps: AloneDeps) {
  const { sql, log } = deps
  const loop = startLoop({
    take: (limit) => takeScores(sql, limit),
    run: (taken, signals) => scoreRun(deps, taken, signals),
    putBack: (taken) => putBackScore(sql, taken),
    concurrency: CONCURRENCY,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'score_queued', hear: wake, onOpen: wake, log })
  return {
    wake,
    async stop(drainMs: number): Promise<void> {
      stopListening()
      await loop.stop(drainMs)
    },
  }
}

/** Makes the checks of a run, and stores what was found. Never raises for what the run is. */
async function scoreRun(deps: AloneDeps, taken: TakenScore, signals: LoopSignals): Promise<void> {
  const { sql, log } = deps
  try {
    await finishScore(sql, taken, await score(deps, taken, signals))
  } catch (thrown) {
    if (signals.drain.aborted) return putBackScore(sql, taken)
    log.error({ err: toError(thrown), kickoff_id: taken.runId }, 'a run could not be scored')
    await finishScore(sql, taken, wrong('The worker failed. Its log has the details.'))
  }
}

const wrong = (reason: string): ScoreResult => ({ state: 'error', reason, findings: [] })

async function score(
  deps: AloneDeps,
  taken: TakenScore,
  signals: LoopSignals,
): Promise<ScoreResult> {
  const { checks, url } = taken
  if (taken.attempt > ATTEMPTS_MAX) return wrong('Its workers were lost each time.')
  if (checks.length === 0) return wrong('The automation has no checks any more.')
  const made = await measure(deps, taken)
  const judged = { inputs: taken.inputs, expected: null, output: taken.output }
  const findings: Finding[] = []
  for (const check of checks) {
    if (check.type !== 'judge') findings.push(makeCheck(check, null, made))
    else if (url === null) findings.push(unasked('The crew of the automation has no address.'))
    else if (!(await hasRoom(deps.sql, { ...taken, isPriced: isPriced(deps, taken) })))
      findings.push(unasked('A budget is used up, or limits money and a model has no price.'))
    else {
      const alone = { ...taken, id: taken.leaseId, url }
      findings.push(await askJudge(deps, { ...alone, check, judged, of: taken }, signals))
    }
  }
  return { ...stateOf(findings), findings }
}

export const unasked = (reason: string): Finding => ({ type: 'judge', state: 'error', reason })

/** What the run took, by the prices of the day on which it ended. */
async function measure(
  { sql, prices }: AloneDeps,
  { output, tools, tokens, models, seconds, finishedAt, organizationId }: TakenScore,
): Promise<Performed> {
  const known = [...(await listOwnPrices(sql, organizationId)), ...prices]
  const usd = costOfModels(models, known, { organization: String(organizationId), at: finishedAt })
  return { output, tools, tokens, seconds, usd: usd ?? null }
}
