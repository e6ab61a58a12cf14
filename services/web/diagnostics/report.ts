import type { FailureCode } from './failure-codes.ts'

/** What the report is about (SPEC 2.1), and how much depends on it (SPEC 3). */
const COMPONENTS = {
  database: 'critical',
  designer: 'optional',
  auth: 'critical',
  tools: 'optional',
  collector: 'optional',
  oauth: 'optional',
  llm_connections: 'optional',
  platform_pods: 'optional',
} as const satisfies Record<string, 'critical' | 'optional'>

export type ComponentName = keyof typeof COMPONENTS
export const COMPONENT_NAMES = Object.keys(COMPONENTS) as readonly ComponentName[]

/** Whether the platform does not work at all without a component (SPEC 3). */
export const isCritical = (name: ComponentName): boolean => COMPONENTS[name] === 'critical'

export type ComponentStatus = 'ok' | 'fail' | 'skipped'
export type Verdict = 'ok' | 'degraded' | 'fail'

export type Details = Readonly<Record<string, unknown>>

/** What a check found: the fields of SPEC 2.2 but for the latency. */
export interface Finding {
  readonly status: ComponentStatus
  readonly checks?: readonly string[]
  readonly error?: string
  readonly details?: Details
  readonly provider?: string
  readonly http_status?: number
}

/** A finding that says what is wrong, as a code and in words, and what to do. */
export interface Failure extends Finding {
  readonly status: 'fail'
  readonly error: string
  readonly details: Details & { readonly code: FailureCode; readonly remediation: string }
}

export interface ComponentResult extends Finding {
  readonly latency_ms?: number
}

export type Components = Readonly<Record<ComponentName, ComponentResult>>

export interface Report {
  readonly status: Verdict
  readonly duration_ms: number
  readonly environment: {
    readonly platform: boolean
    readonly auth_provider: string
    readonly version: string
  }
  readonly components: Components
}

/** What one component does to the verdict; the worst one wins. */
const EFFECTS: Readonly<
  Record<(typeof COMPONENTS)[ComponentName], Record<ComponentStatus, Verdict>>
> = {
  critical: { ok: 'ok', skipped: 'ok', fail: 'fail' },
  optional: { ok: 'ok', skipped: 'ok', fail: 'degraded' },
}

const SEVERITY: readonly Verdict[] = ['fail', 'degraded', 'ok']

/** SPEC 3. */
export function verdictOf(
  components: Readonly<Record<ComponentName, Pick<Finding, 'status'>>>,
): Verdict {
  const effects = COMPONENT_NAMES.map((name) => EFFECTS[COMPONENTS[name]][components[name].status])
  return SEVERITY.find((verdict) => effects.includes(verdict)) ?? 'ok'
}

export const HTTP_STATUS = { ok: 200, degraded: 200, fail: 503 } as const satisfies Record<
  Verdict,
  number
>
