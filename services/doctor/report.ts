import * as v from 'valibot'

const component = v.looseObject({
  status: v.picklist(['ok', 'fail', 'skipped']),
  latency_ms: v.optional(v.number()),
  checks: v.optional(v.array(v.string())),
  error: v.optional(v.string()),
  provider: v.optional(v.string()),
  details: v.optional(v.record(v.string(), v.unknown())),
})

/** A report of any version of the platform, or of the checks before an installation. */
export const doctorReport = v.looseObject({
  status: v.picklist(['ok', 'degraded', 'fail']),
  duration_ms: v.number(),
  environment: v.looseObject({
    platform: v.boolean(),
    auth_provider: v.string(),
    version: v.string(),
  }),
  components: v.record(v.string(), component),
})

/** A report as it was read. */
export type DoctorReport = v.InferOutput<typeof doctorReport>
/** The result of one component. */
export type DoctorComponent = v.InferOutput<typeof component>
type Verdict = DoctorReport['status']

/** The answer of an address: a report, or the reason why there is none. */
export type Answer =
  | { readonly url: string; readonly report: DoctorReport; readonly problem?: never }
  | { readonly url: string; readonly problem: string; readonly report?: never }

/** The components without which the platform does not work, or cannot be installed (SPEC 3). */
const CRITICAL: ReadonlySet<string> = new Set([
  'database',
  'auth',
  'cluster',
  'rights',
  'storage',
  'registry',
  'collector_database',
])

/** Returns the verdict on components by the rule of the report (SPEC 3). */
export function verdictOf(components: DoctorReport['components']): Verdict {
  const failed = Object.entries(components).filter(([, { status }]) => status === 'fail')
  if (failed.some(([name]) => CRITICAL.has(name))) return 'fail'
  return failed.length > 0 ? 'degraded' : 'ok'
}

/** Returns the code of a failure; undefined for a component without one. */
export function codeOf({ details }: DoctorComponent): string | undefined {
  const code = details?.['code']
  return typeof code === 'string' ? code : undefined
}
