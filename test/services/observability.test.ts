import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { parser } from '@prometheus-io/lezer-promql'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { countSpans } from '../../services/shared/tracing/span-metrics.ts'
import { createMetrics } from '../../services/shared/http/metrics.ts'
import { createAuthMetrics } from '../../services/web/gate/access-token/metrics.ts'
import { createLimitMetrics } from '../../services/web/gate/callers/limit-metrics.ts'
import { createDiagnosisMetrics } from '../../services/web/diagnostics/metrics.ts'
import { registerBudgetGauges } from '../../services/worker/run/budget-metrics.ts'
import { registerCrewMetrics } from '../../services/worker/deployments/start-crews.ts'
import { createWorkerMetrics } from '../../services/worker/run/metrics.ts'

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<string, string>>
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; w: number; h: number }
  readonly targets?: readonly { readonly expr?: string }[]
}

const SERVICES = ['web', 'worker', 'collector'] as const
const folderOf = (service: string) => `services/${service}/observability`
const readText = (service: string, file: string): string =>
  readFileSync(`${folderOf(service)}/${file}`, 'utf8')

const alertsOf = (service: string): readonly Alert[] =>
  parse(readText(service, 'alerts.yaml')).groups.flatMap(
    ({ rules }: { rules: readonly Alert[] }) => rules,
  )
const panelsOf = (service: string): readonly Panel[] =>
  readdirSync(folderOf(service))
    .filter((name) => name.endsWith('.json'))
    .flatMap((name): readonly Panel[] => JSON.parse(readText(service, name)).panels)

/** Every query of alerts and panels, by where it stands. */
const queriesOf = (service: string): readonly (readonly [where: string, query: string])[] => [
  ...alertsOf(service).map(({ alert, expr }) => [alert, expr] as const),
  ...panelsOf(service).flatMap(({ title, targets = [] }) =>
    targets.flatMap(({ expr }) => (expr === undefined ? [] : [[title, expr] as const])),
  ),
]

interface Reading {
  readonly mistakes: readonly string[]
  readonly metrics: readonly string[]
  readonly labels: readonly string[]
}

/** What Prometheus' own grammar makes of a query. */
function readQuery(query: string): Reading {
  const [mistakes, metrics, labels]: [string[], string[], string[]] = [[], [], []]
  // Grafana puts a time where its variable stands.
  const text = query.replaceAll('$__rate_interval', '5m')
  parser.parse(text).iterate({
    enter({ name, from, to, type }) {
      const part = text.slice(from, to)
      if (type.isError) mistakes.push(`${text.slice(0, from)}<<<${part || 'here'}`)
      if (name === 'Identifier') metrics.push(part)
      if (name === 'LabelName') labels.push(part)
    },
  })
  return { mistakes, metrics, labels }
}

/** The metrics of a service: those that its registry has, and their labels. */
function registryOf(service: 'web' | 'worker') {
  const registry = createMetrics()
  if (service === 'web') {
    createDiagnosisMetrics(registry)
    createAuthMetrics(registry)
    createLimitMetrics(registry)
    countSpans(registry, 'web')
    return registry
  }
  createWorkerMetrics(registry, {
    running: () => 0,
    queue: async () => ({ due: 0, oldestSeconds: 0, heldBack: 0 }),
    outbox: async () => ({ waiting: 0, oldestSeconds: 0, paused: 0 }),
    forwards: async () => ({ oldestSeconds: 0, paused: 0 }),
  })
  registerBudgetGauges(registry, async () => ({ warned: 0, exhausted: 0, waitingRuns: 0 }))
  registerCrewMetrics(registry, async () => ({}))
  return registry
}

describe.each(SERVICES)('the alerts and dashboards of %s', (service) => {
  it('are queries that Prometheus understands', () => {
    const queries = queriesOf(service)
    expect(queries.length).toBeGreaterThan(10)
    const mistakes = queries.flatMap(([where, query]) =>
      readQuery(query).mistakes.map((mistake) => `${where}: ${mistake}`),
    )
    expect(mistakes).toEqual([])
  })

  it('say each what is wrong and what to do', () => {
    for (const { alert, annotations, labels, for: duration } of alertsOf(service)) {
      expect(labels.severity, alert).toMatch(/^(critical|warning|info)$/)
      expect(duration, alert).toMatch(/^\d+[smh]$/)
      expect(Object.keys(annotations), alert).toEqual(['summary', 'description', 'runbook'])
    }
  })
})

describe('a query that Prometheus does not understand', () => {
  it.each(['sum(a', 'rate(a[5m]) by (b)', 'a >< 1', 'max(a{b="c)'])('is found: %s', (query) => {
    expect(readQuery(query).mistakes).not.toEqual([])
  })
})

describe.each(['web', 'worker'] as const)('the metrics of %s', (service) => {
  const names = new Set<string>()
  let own: readonly string[] = []
  beforeAll(async () => {
    const metrics = await registryOf(service).getMetricsAsJSON()
    for (const { name, type } of metrics) {
      // A histogram has three.
      const suffixes = String(type) === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      for (const suffix of suffixes) names.add(name + suffix)
    }
    own = metrics.map(({ name }) => name).filter((name) => !/^(nodejs|process)_/.test(name))
  })

  it('are all that its queries ask for', () => {
    const unknown = queriesOf(service).flatMap(([where, query]) =>
      readQuery(query)
        .metrics.filter((name) => !names.has(name))
        .map((name) => `${where}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it('have the labels by which its queries group and filter', () => {
    const known = new Set(['le', 'instance', 'job', 'scheme', 'result', 'component', 'fate'])
    for (const label of ['limit', 'outcome', 'state']) known.add(label)
    const used = queriesOf(service).flatMap(([, query]) => readQuery(query).labels)
    expect(used.filter((label) => !known.has(label))).toEqual([])
  })

  it('are on its dashboard, and in the manual as its alerts are', () => {
    const shown = panelsOf(service).flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr = '' }) => readQuery(expr).metrics),
    )
    expect(own.filter((name) => !shown.some((one) => one.startsWith(name)))).toEqual([])
    const manual = ['operate', 'budgets', 'webhooks', 'forward-traces']
      .map((page) => readFileSync(`docs/${page}.md`, 'utf8'))
      .join('\n')
    const explained = [...own, ...alertsOf(service).map(({ alert }) => alert)]
    expect(explained.filter((name) => !manual.includes(name))).toEqual([])
  })
})

describe('the panels of a dashboard', () => {
  it.each(['web', 'worker'])('of %s have a description and a place of their own', (service) => {
    expect(existsSync(`${folderOf(service)}/dashboard.json`)).toBe(true)
    const taken = new Set<string>()
    for (const { title, type, description, gridPos } of panelsOf(service)) {
      if (type !== 'row') expect(description, title).toBeTruthy()
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), title).toBe(false)
          taken.add(`${x},${y}`)
        }
      }
    }
  })
})
