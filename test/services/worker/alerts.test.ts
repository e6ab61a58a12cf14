import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../../services/shared/http/metrics.ts'
import { registerBudgetGauges } from '../../../services/worker/run/budget-metrics.ts'
import { registerCrewMetrics } from '../../../services/worker/deployments/start-crews.ts'
import { createWorkerMetrics } from '../../../services/worker/run/metrics.ts'

const ALERTS = new URL('../../../services/worker/observability/alerts.yaml', import.meta.url)
const PAGES = ['webhooks', 'budgets', 'operate'].map(
  (name) => new URL(`../../../docs/${name}.md`, import.meta.url),
)

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

const text = readFileSync(ALERTS, 'utf8')
const rules: Rule[] = parse(text).groups.flatMap(({ rules: inGroup }: { rules: Rule[] }) => inGroup)
const metricsIn = (given: string): string[] =>
  [...given.matchAll(/\bworker_\w+/g)].map(([name]) => name)

describe('the alerts of the workers', () => {
  let exposition = ''
  beforeAll(async () => {
    const registry = createMetrics()
    createWorkerMetrics(registry, {
      running: () => 0,
      queue: async () => ({ due: 0, oldestSeconds: 0, heldBack: 0 }),
      outbox: async () => ({ waiting: 0, oldestSeconds: 0, paused: 0 }),
      forwards: async () => ({ oldestSeconds: 0, paused: 0 }),
    })
    registerBudgetGauges(registry, async () => ({ warned: 2, exhausted: 1, waitingRuns: 3 }))
    registerCrewMetrics(registry, async () => ({ 'Crew has Failed': 2 }))
    exposition = await registry.metrics()
  })

  it('name metrics that a worker has, and that the manual explains', () => {
    const names = metricsIn(text)
    expect(names).toContain('worker_webhook_oldest_seconds')
    for (const name of names) expect(exposition).toContain(`# TYPE ${name} `)
    const page = PAGES.map((each) => readFileSync(each, 'utf8')).join('\n')
    for (const { alert, expr } of rules) {
      expect(page).toContain(`\`${alert}\``)
      for (const name of metricsIn(expr)) expect(page).toContain(`\`${name}\``)
    }
  })

  it('counts crews in each state', () => {
    expect(exposition).toContain('worker_crews{state="Crew has Failed"} 2')
    expect(exposition).toContain('worker_crews{state="Crew is Online"} 0')
    expect(exposition).toContain('worker_crew_failures_total 0')
  })

  it('say each what is wrong and what to do', () => {
    for (const { alert, labels, annotations, for: duration } of rules) {
      expect(labels.severity, alert).toMatch(/^(critical|warning|info)$/)
      expect(duration, alert).toMatch(/^\d+[smh]$/)
      expect(Object.keys(annotations), alert).toEqual(['summary', 'description', 'runbook'])
    }
  })
})
