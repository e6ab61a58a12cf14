import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { PREFLIGHT_CODES, PREFLIGHT_WARNINGS } from '../services/doctor/preflight/result.ts'
import { PREFLIGHT_NAMES } from '../services/doctor/preflight/command.ts'
import { CHECKS, COMPONENT_NAMES } from '../services/web/diagnostics/checks/list.ts'
import { DATABASE_CODES } from '../services/web/diagnostics/database-failure.ts'
import { RUN_CODES } from '../services/web/diagnostics/run-codes.ts'

const names = unique([...COMPONENT_NAMES, ...PREFLIGHT_NAMES])
const all = COMPONENT_NAMES.map((name) => CHECKS[name])
const codes = unique([
  ...all.flatMap(({ failures }) => Object.keys(failures)),
  ...Object.keys({ ...DATABASE_CODES, ...RUN_CODES, ...PREFLIGHT_CODES }),
])
const warnings = unique([
  ...all.flatMap((check) => Object.keys(check.warnings ?? {})),
  ...Object.keys(PREFLIGHT_WARNINGS),
])

function unique(words: readonly string[]): string[] {
  return [...new Set(words)].toSorted()
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const details = v.looseObject({
  code: v.optional(v.picklist(codes)),
  remediation: v.optional(v.string()),
  warnings: v.optional(
    v.array(
      v.strictObject({ code: v.picklist(warnings), message: v.string(), remediation: v.string() }),
    ),
  ),
})

const component = v.strictObject({
  status: v.picklist(['ok', 'fail', 'skipped']),
  latency_ms: v.optional(count),
  checks: v.optional(v.array(v.string())),
  error: v.optional(v.string()),
  details: v.optional(details),
  provider: v.optional(v.string()),
  http_status: v.optional(count),
})

const report = v.strictObject({
  status: v.picklist(['ok', 'degraded', 'fail']),
  duration_ms: count,
  environment: v.strictObject({
    platform: v.boolean(),
    auth_provider: v.string(),
    version: v.string(),
  }),
  components: v.object({}),
})

/** A failure says why, as a code, and what to do. */
const failuresAreExplained = {
  anyOf: [
    { properties: { status: { enum: ['ok', 'skipped'] } } },
    {
      required: ['latency_ms', 'error', 'details'],
      properties: { details: { required: ['code', 'remediation'] } },
    },
  ],
}

const { $schema, ...shape } = toJsonSchema(report)
const { $schema: _, ...componentShape } = toJsonSchema(component)
/** The JSON Schema of the diagnostic report, and of that before an installation. */
export const doctorSchema = {
  $schema,
  title: 'The diagnostic report of a platform',
  ...shape,
  properties: {
    ...shape.properties,
    components: {
      type: 'object',
      propertyNames: { enum: names },
      additionalProperties: { ...componentShape, ...failuresAreExplained },
    },
  },
}
