import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { BudgetCounts } from '../../platform/budgets/budgets.ts'
import { deadline } from '../../shared/deadline.ts'
import { shareWhilePending } from './metrics.ts'

const SCRAPE_MS = 2000
const UNKNOWN: BudgetCounts = {
  warned: Number.NaN,
  exhausted: Number.NaN,
  waitingRuns: Number.NaN,
}

const GAUGES = {
  warned: ['worker_budgets_warned', 'Budgets of which 80 % are spent in their day or month of now'],
  exhausted: ['worker_budgets_exhausted', 'Budgets of which everything is spent'],
  waitingRuns: ['worker_budget_waiting_runs', 'Runs that wait for a budget'],
} as const satisfies Record<keyof BudgetCounts, readonly [name: string, help: string]>

/** Registers the gauges of budgets, the same on each worker; `measure` is asked at each scrape. */
export function registerBudgetGauges(
  registry: Registry,
  measure: () => Promise<BudgetCounts>,
): void {
  const limit = { name: 'budgets', timeoutMs: SCRAPE_MS }
  const measured = shareWhilePending(() => deadline(limit, measure).catch(() => UNKNOWN))
  for (const key of ['warned', 'exhausted', 'waitingRuns'] as const) {
    const [name, help] = GAUGES[key]
    new Gauge({
      name,
      help: `${help}; NaN while the database is unavailable.`,
      registers: [registry],
      async collect() {
        this.set((await measured())[key])
      },
    })
  }
}
