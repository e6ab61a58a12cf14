import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { registerBudgetGauges } from '../../../services/worker/budget-metrics.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

const file = new URL('../../../services/worker/observability/alerts.yaml', import.meta.url)
const { groups }: { groups: { rules: Rule[] }[] } = parse(readFileSync(file, 'utf8'))
const rules = groups.flatMap((group) => group.rules)

it('the alerts of workers watch gauges that there are, and say what to do', async () => {
  const registry = new Registry()
  registerBudgetGauges(registry, async () => ({ warned: 2, exhausted: 1, waitingRuns: 3 }))
  const exposition = await registry.metrics()
  expect(exposition).toMatch(/^worker_budget_waiting_runs 3$/m)
  for (const { alert, expr, labels, annotations } of rules) {
    expect(labels.severity, alert).toMatch(/^(critical|warning|info)$/)
    for (const [metric = ''] of expr.matchAll(/worker_\w+/g)) expect(exposition).toContain(metric)
    for (const name of ['summary', 'description', 'runbook']) {
      expect(annotations[name], `${alert} ${name}`).toBeTruthy()
    }
  }
})
