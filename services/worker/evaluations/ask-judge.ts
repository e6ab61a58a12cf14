import { chargeOutside } from '../../platform/budgets/budget-outside.ts'
import { judgedTimes } from '../../platform/evaluations/checks.ts'
import type { Check, Finding, Judge } from '../../platform/evaluations/checks.ts'
import { judgeCrew, judgeInputs, sumUp } from '../../platform/evaluations/judge-crew.ts'
import type { Answered } from '../../platform/evaluations/judge-crew.ts'
import { toError } from '../../shared/errors.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { findPrice } from '../../shared/prices/find-price.ts'
import type { LoopSignals } from '../run/loop.ts'
import { performAlone } from './perform-alone.ts'
import type { Alone, AloneDeps, Spent } from './perform-alone.ts'

/** All judges of a case or a run together, which is shorter than a lease. */
const JUDGES_MS = 300_000

/** What is judged, and whose budgets pay for it. */
interface Paid {
  readonly organizationId: number
  /** null: of the organization alone. */
  readonly deploymentId: number | null
  readonly checks: readonly Check[]
}

/** Returns true where the judges, and these models, have prices. */
export function isPriced(
  { prices }: AloneDeps,
  { checks, organizationId }: Omit<Paid, 'deploymentId'>,
  models: readonly string[] = [],
): boolean {
  const judges = checks.flatMap((each) => (each.type === 'judge' ? [each.model] : []))
  const at = { organization: String(organizationId), at: new Date() }
  return [...models, ...judges].every((model) => findPrice(prices, { model, ...at }))
}

/** Adds what calls took to the budgets of an automation. */
export const charge = (
  sql: Database,
  { organizationId, deploymentId }: Omit<Paid, 'checks'>,
  spent: Spent,
): Promise<void> =>
  chargeOutside(sql, {
    organizationId,
    deploymentId,
    tokens: spent.inputTokens + spent.outputTokens,
    usd: spent.usd ?? 0,
  })

interface Judging extends Omit<Alone, 'definition' | 'versionId'> {
  readonly check: Judge
  readonly judged: Parameters<typeof judgeInputs>[1]
  readonly of: Paid
}

/** Asks a model as often as the check says, as a crew of its own. Raises the reason of a drain. */
export async function askJudge(
  deps: AloneDeps,
  { check, judged, of, ...alone }: Judging,
  signals: LoopSignals,
): Promise<Finding> {
  const inputs = judgeInputs(check, judged)
  if (!inputs) return sumUp([{ problem: 'It is too long to be judged.' }])
  const crew = { ...alone, definition: judgeCrew(check.model), inputs, versionId: 0 }
  const timeoutMs = JUDGES_MS / judgedTimes(of.checks)
  const answers: Answered[] = []
  const sums: { tokens: number; usd: number | null } = { tokens: 0, usd: 0 }
  for (let asked = 0; asked < (check.times ?? 1); asked += 1) {
    try {
      const { ending, spent } = await performAlone(deps, crew, { signals, timeoutMs })
      await charge(deps.sql, of, spent)
      sums.tokens += spent.inputTokens + spent.outputTokens
      sums.usd = sums.usd === null || spent.usd === null ? null : sums.usd + spent.usd
      answers.push(
        ending.outcome === 'completed'
          ? { output: ending.output }
          : { problem: 'failure' in ending ? ending.failure.message : undefined },
      )
    } catch (thrown) {
      if (signals.drain.aborted) throw thrown
      answers.push({ problem: toError(thrown).message })
    }
  }
  return { ...sumUp(answers), ...sums }
}
