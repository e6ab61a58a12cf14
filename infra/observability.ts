import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** A group of alerts, as Prometheus has it. */
export interface RuleGroup {
  readonly name: string
  readonly rules: readonly Alert[]
}

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const folderOf = (component: string): string => `services/${component}/observability`

/** The alerts that a component ships. */
export function alertsOf(component: string): readonly RuleGroup[] {
  const file = `${folderOf(component)}/alerts.yaml`
  if (!existsSync(file)) return []
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(readFileSync(file, 'utf8'))
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({ ...rule, expr: rule.expr.trim() })),
  }))
}

/** The dashboards that a component ships, by the names under which Grafana gets them. */
export function dashboardsOf(component: string): readonly (readonly [string, string])[] {
  const folder = folderOf(component)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => [`${component}-${name}`, readFileSync(`${folder}/${name}`, 'utf8')] as const)
}
