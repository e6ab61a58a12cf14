import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { bearer, createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'

const folder = new URL('../../../services/collector/observability/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: Record<string, string>
}
interface Panel {
  title: string
  type: string
  description?: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
}

const rules: Rule[] = parse(read('alerts.yaml')).groups.flatMap(
  ({ rules: inGroup }: { rules: Rule[] }) => inGroup,
)
const dashboard: { panels: Panel[] } = JSON.parse(read('dashboard.json'))
const queries = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  ),
]

/** The metric names in a query: all of ours, and those of the process, have an underscore. */
function metricsIn(expr: string): string[] {
  const bare = expr.replace(/"[^"]*"/g, '').replace(/\b(?:by|without|on) \([^)]*\)/g, '')
  return [...bare.matchAll(/\b(?:collector|process|nodejs)_\w+/g)].map(([name]) => name)
}

const promtool = process.env['PROMTOOL'] ?? 'promtool'
const hasPromtool = spawnSync(promtool, ['--version']).status === 0
if (!hasPromtool)
  console.warn('alerts.yaml was not given to promtool: there is none on the PATH; set PROMTOOL')

describe('the dashboard and the alerts', () => {
  let harness: Harness
  let exposition = ''
  beforeAll(async () => {
    harness = await createHarness()
    await harness.post(toProtobuf(requestOf(spanOf(), spanOf({ startTimeUnixNano: '1' }))))
    await harness.post('', { authorization: 'none' })
    const attributes = Array.from({ length: 1025 }, (_, i) => textAttribute(`key-${i}`, ''))
    await harness.post(toProtobuf(requestOf(spanOf({ attributes }))))
    await fetch(`${harness.collector.url}/api/traces`, {
      headers: { authorization: await bearer() },
    })
    exposition = await (await fetch(`${harness.collector.metricsUrl}/metrics`)).text()
  })
  afterAll(() => harness.stop())

  /** Also those of which nothing has been counted yet; a histogram has three. */
  const exposed = (): Set<string> => {
    const names = new Set<string>()
    for (const [, name = '', type] of exposition.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
      const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      for (const suffix of suffixes) names.add(name + suffix)
    }
    return names
  }

  it('ask for metrics that the collector has, and no others', () => {
    const there = exposed()
    for (const { where, expr } of queries) {
      const names = metricsIn(expr)
      expect(names, where).not.toEqual([])
      expect(
        names.filter((name) => !there.has(name)),
        where,
      ).toEqual([])
    }
  })

  it('group by labels that those metrics have', () => {
    const labels = ['reason', 'code', 'view', 'partition', 'within', 'kind']
    for (const label of labels) expect(exposition).toContain(`${label}="`)
    const known = new Set([...labels, 'le', 'instance', 'sqlstate_class', 'state'])
    const used = queries.flatMap(({ expr }) =>
      [...expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
        list.split(/,\s*/),
      ),
    )
    expect(used.filter((label) => !known.has(label))).toEqual([])
  })

  it('leave none of the collector metrics unseen', () => {
    const seen = queries.flatMap(({ expr }) => metricsIn(expr))
    const own = [...exposition.matchAll(/^# TYPE (collector_\w+) /gm)].map(([, name = '']) => name)
    expect(own.filter((name) => !seen.some((one) => one.startsWith(name)))).toEqual([])
    const page = readFileSync(new URL('../README.md', folder), 'utf8')
    expect(own.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('watch what must be watched, and each alert says what to do', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining([
        'CollectorSpansDoNotBalance',
        'CollectorDoesNotCommit',
        'CollectorDatabaseDegraded',
        'CollectorRetentionDoesNotSucceed',
        'CollectorQueueNearCapacity',
        'CollectorStorageFull',
        'CollectorClockSkewed',
        'CollectorHoldsBackExpiredDays',
        'CollectorDropsDaysEarly',
        'CollectorReplicaNotRead',
        'CollectorTokenExpires',
        'CollectorAuthenticationFails',
        'CollectorRefusesRequests',
      ]),
    )
    for (const { alert, labels, annotations, for: duration } of rules) {
      expect(labels.severity, alert).toMatch(/^(critical|warning)$/)
      expect(duration, alert).toMatch(/^\d+[smh]$/)
      for (const name of ['summary', 'description', 'runbook']) {
        expect(annotations[name], `${alert} ${name}`).toBeTruthy()
      }
    }
  })

  it('name reasons that the collector really gives', () => {
    const sources = ['ingest', 'app', 'wrong-protocol', 'grpc/serve-grpc'].map(
      (name) => `server/${name}.ts`,
    )
    sources.push('otlp/refusals.ts', 'store/spans/group-commit.ts', 'tokens/authorization.ts')
    const code = sources.map((name) => readFileSync(new URL(`../${name}`, folder), 'utf8')).join()
    const named = [
      'unauthorized',
      'starting',
      'draining',
      'client_gone',
      'over_budget',
      'storage_full',
      'clock_skew',
      'lifetime_too_long',
      'body_stalled',
      'grpc',
      'not_grpc',
      'not_traces',
    ]
    const more = ['not_committed_in_time', 'too_large', 'bad_body', 'media_type', 'internal']
    const text = read('alerts.yaml')
    for (const reason of [...named, ...more, 'expired', 'invalid', 'missing', 'malformed']) {
      expect(code, reason).toContain(`'${reason}'`)
      expect(text, reason).toContain(reason)
    }
  })

  it('lay out panels that do not overlap, each with a description', () => {
    const taken = new Set<string>()
    for (const { title, type, description, gridPos } of dashboard.panels) {
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

  it('ask the roll-ups only for what they have', async () => {
    const usage: { panels: { targets?: { rawSql: string }[] }[] } = JSON.parse(
      read('usage-dashboard.json'),
    )
    const statements = usage.panels.flatMap(({ targets = [] }) =>
      targets.map(({ rawSql }) => rawSql),
    )
    expect(statements).toHaveLength(8)
    for (const statement of statements) {
      await harness.sql.unsafe(statement.replace('$__timeFilter(hour)', 'hour <= now()'))
    }
  })

  it.skipIf(!hasPromtool)('are valid for promtool', () => {
    const path = new URL('alerts.yaml', folder).pathname
    const { status, stderr } = spawnSync(promtool, ['check', 'rules', path], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })
})
