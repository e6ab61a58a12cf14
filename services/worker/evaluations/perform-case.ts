import { hasRoom } from '../../platform/budgets/budget-outside.ts'
import { modelsOf } from '../../platform/definitions/crew-definition.ts'
import { resolveInputs } from '../../platform/definitions/crew-inputs.ts'
import type { Inputs } from '../../platform/definitions/input-declarations.ts'
import { makeCheck, stateOf } from '../../platform/evaluations/checks.ts'
import type { Finding, Performed } from '../../platform/evaluations/checks.ts'
import { finishCase, putBackCase, retryCase } from '../../platform/evaluations/evaluation-queue.ts'
import type { CaseResult, TakenCase } from '../../platform/evaluations/evaluation-queue.ts'
import { closeEvaluations } from '../../platform/evaluations/scores.ts'
import { prepareInputs } from '../../platform/runs/prepare-inputs.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { Ending } from '../run/ending.ts'
import type { LoopSignals } from '../run/loop.ts'
import { askJudge, charge, isPriced } from './ask-judge.ts'
import { performAlone } from './perform-alone.ts'
import type { Alone, AloneDeps, Spent } from './perform-alone.ts'

/** With its judges shorter than the lease. */
const CASE_MS = 600_000
/** How often a case is tried whose crew or worker is lost. */
const ATTEMPTS_MAX = 3

/**
 * Performs a case with a version, checks what it put out, and stores what was found. Never raises
 * for what the case or its crew is.
 */
export async function performCase(
  deps: AloneDeps,
  taken: TakenCase,
  signals: LoopSignals,
): Promise<void> {
  const { sql } = deps
  const found = await perform(deps, taken, signals)
  if ('delaySeconds' in found) return putBackCase(sql, taken, found.delaySeconds)
  if ('broken' in found && taken.attempt < ATTEMPTS_MAX) return retryCase(sql, taken)
  await finishCase(sql, taken, 'broken' in found ? wrong(found.broken) : found)
  await closeEvaluations(sql)
}

type Found = CaseResult | { readonly delaySeconds: number } | { readonly broken: string }

const wrong = (reason: string): CaseResult => ({ state: 'error', reason })

async function perform(deps: AloneDeps, taken: TakenCase, signals: LoopSignals): Promise<Found> {
  if (taken.attempt > ATTEMPTS_MAX) return wrong('Its workers were lost each time.')
  const { url } = taken
  if (url === null) return wrong('The crew of its automation has no address.')
  if (
    !(await hasRoom(deps.sql, {
      ...taken,
      isPriced: isPriced(deps, taken, modelsOf(taken.definition)),
    }))
  ) {
    return wrong('A budget is used up, or limits money and a model has no price.')
  }
  try {
    const inputs = await inputsOf(deps, taken)
    if (typeof inputs === 'string') return wrong(inputs)
    const alone = { ...taken, inputs, url }
    const performed = await performAlone(deps, alone, { signals, timeoutMs: CASE_MS })
    await charge(deps.sql, taken, performed.spent)
    return await conclude(deps, { taken, alone, ...performed }, signals)
  } catch (thrown) {
    if (signals.drain.aborted) return { delaySeconds: 0 }
    if (thrown instanceof AppError && thrown.code === 'unprocessable') {
      return { state: 'failed', reason: `The version refuses the inputs: ${thrown.message}` }
    }
    if (thrown instanceof AppError && thrown.code === 'timeout') {
      return { state: 'failed', reason: `It took longer than ${CASE_MS / 1000} s.` }
    }
    deps.log.error({ err: toError(thrown), evaluation_run_id: taken.id }, 'a case failed')
    return { broken: 'The worker failed. Its log has the details.' }
  }
}

/**
 * Returns the inputs of a case, or why its files are not there. Raises `unprocessable` for inputs
 * that the version refuses.
 */
async function inputsOf({ sql }: AloneDeps, taken: TakenCase): Promise<Inputs | string> {
  const { definition, deploymentId } = taken
  const inputs = resolveInputs(definition, taken.inputs)
  try {
    const automation = { id: deploymentId }
    return (await prepareInputs(sql, { automation, definition, inputs })).inputs
  } catch (thrown) {
    if (thrown instanceof AppError) return `Its files cannot be used: ${thrown.message}`
    throw thrown
  }
}

interface Concluded {
  readonly taken: TakenCase
  readonly alone: Alone
  readonly ending: Ending
  readonly spent: Spent
}

async function conclude(
  deps: AloneDeps,
  { taken, alone, ending, spent }: Concluded,
  signals: LoopSignals,
): Promise<Found> {
  if (ending.outcome === 'released') return { delaySeconds: ending.delaySeconds }
  if (ending.outcome === 'waiting') return { ...wrong(WAITS), ...spent }
  if (ending.outcome !== 'completed') {
    const { code, message } = ending.failure
    if (ending.outcome === 'retried') return { broken: message }
    // What a model, a connection or a rule refuses says nothing about the version.
    const isOutside = /^(llm|connection|region|crew)_/.test(code)
    return { state: isOutside ? 'error' : 'failed', reason: message, ...spent }
  }
  const { output } = ending
  const tokens = spent.inputTokens + spent.outputTokens
  const made: Performed = { ...spent, output, tokens }
  const judged = { inputs: alone.inputs, expected: taken.expected, output }
  const findings: Finding[] = []
  for (const check of taken.checks) {
    if (check.type !== 'judge') findings.push(makeCheck(check, taken.expected, made))
    else findings.push(await askJudge(deps, { ...alone, check, judged, of: taken }, signals))
  }
  return { ...stateOf(findings), ...spent, output, findings }
}

const WAITS = 'It waits for a person, and no person is asked in an evaluation.'
