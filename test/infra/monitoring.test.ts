import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contextOf } from '../../infra/render.ts'
import { chart, find, manifests, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const COMPONENTS = ['web', 'worker', 'oauth', 'collector']
const isSelected = (labels: Record<string, string>, selector: Record<string, string>): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value)

describe('ServiceMonitors', () => {
  const objects = manifests({ serviceMonitor: { enabled: true, labels: { team: 'a' } } })

  it.each(COMPONENTS)('of %s select one Service, which leads to the port for metrics', (name) => {
    const monitor = find(objects, 'ServiceMonitor', name)
    expect(monitor.metadata.labels).toMatchObject({ team: 'a' })
    const services = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' && isSelected(metadata.labels, monitor.spec.selector.matchLabels),
    )
    expect(services.map(({ metadata }) => metadata.name)).toEqual([`demo-${name}-metrics`])
    const [{ spec }] = services as [Manifest]
    expect(monitor.spec.endpoints).toEqual([
      { port: spec.ports[0].name, path: '/metrics', interval: '30s' },
    ])
    const { template } = find(objects, 'Deployment', name).spec
    expect(isSelected(template.metadata.labels, spec.selector)).toBe(true)
    const ports = template.spec.containers.flatMap((container: Manifest) => container.ports)
    const port = ports.find((each: Manifest) => each.name === spec.ports[0].targetPort)
    expect(String(port.containerPort)).toBe(template.metadata.annotations['prometheus.io/port'])
  })

  it('exclude PodMonitors, by which everything would be counted twice', () => {
    const both = { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } }
    expect(() => contextOf([both], RELEASE)).toThrow('exclude each other')
  })
})

describe('alerts and dashboards', () => {
  const objects = manifests({
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    grafanaDashboards: {
      enabled: true,
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'Platform' },
    },
  })

  it.each(COMPONENTS)('of %s are the files beside the service', (name) => {
    const folder = `services/${name}/observability`
    const rule = find(objects, 'PrometheusRule', name)
    const file = parse(readFileSync(`${folder}/alerts.yaml`, 'utf8'))
    expect(rule.spec.groups).toMatchObject(
      file.groups.map((group: Manifest) => ({
        name: group.name,
        rules: group.rules.map((each: Manifest) => ({ ...each, expr: each.expr.trim() })),
      })),
    )
    expect(rule.metadata.labels).toMatchObject({ release: 'prometheus' })
    const { data, metadata } = find(objects, 'ConfigMap', `${name}-dashboards`)
    expect(data[`${name}-dashboard.json`]).toBe(readFileSync(`${folder}/dashboard.json`, 'utf8'))
    expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' })
    expect(metadata.annotations).toEqual({ grafana_folder: 'Platform' })
  })

  it('go with their component, and are there only when asked for', () => {
    const without = manifests({
      collector: { enabled: false },
      prometheusRule: { enabled: true },
    })
    expect(find(without, 'PrometheusRule', 'collector')).toBeUndefined()
    expect(find(without, 'PrometheusRule', 'web')).toBeDefined()
    expect(manifests().map(({ kind }) => kind)).not.toContain('PrometheusRule')
  })

  it('are readable files of the chart, not texts in a template', () => {
    expect(chart.files.get('dashboards/web-dashboard.json')).toBe(
      readFileSync('services/web/observability/dashboard.json', 'utf8'),
    )
    const template = chart.files.get('templates/monitoring/web-dashboards-configmap.yaml')
    expect(template).toContain('.Files.Get "dashboards/web-dashboard.json"')
  })
})
