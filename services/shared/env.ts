import * as v from 'valibot'
import { AppError } from './errors.ts'
import { oneOf } from './schemas.ts'

/** Environment variables as a process receives them. */
export type EnvSource = Readonly<Record<string, string | undefined>>

type EnvSchema = v.GenericSchema

/** The variables that a manifest must (required keys) and may (optional keys) set for a service. */
export type EnvOf<Schema extends EnvSchema> = v.InferInput<Schema>

/**
 * Reads a service's environment once, at start.
 * Raises `invalid_configuration` that lists every bad variable at once; values of secrets are never
 * shown.
 */
export function readEnv<Schema extends EnvSchema>(
  schema: Schema,
  source: EnvSource,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, source)
  if (result.success) return result.output
  const problems = result.issues.map((issue) => `  - ${describe(issue, source)}`)
  throw new AppError(
    'invalid_configuration',
    `The environment is not valid:\n${problems.join('\n')}`,
    { details: { variables: result.issues.map(nameOf) } },
  )
}

const nameOf = (issue: v.BaseIssue<unknown>): string => v.getDotPath(issue) ?? ''
const isSecret = (name: string): boolean =>
  /SECRET|PASSWORD|PASSPHRASE|TOKEN|KEY|DATABASE_URL|_PROXY$/.test(name)

function describe(issue: v.BaseIssue<unknown>, source: EnvSource): string {
  const name = nameOf(issue)
  const given = source[name]
  if (given === undefined) {
    return issue.kind === 'schema' ? `${name} is required and not set` : `${name} ${issue.message}`
  }
  const shown = isSecret(name) ? `${given.length} characters` : JSON.stringify(given)
  return `${name} ${issue.message} (given: ${shown})`
}

/** A whole number between `min` and `max`, written in digits. */
export const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,15}$/, `must be a whole number between ${min} and ${max}`),
    v.transform(Number),
    v.minValue(min, `must be between ${min} and ${max}`),
    v.maxValue(max, `must be between ${min} and ${max}`),
  )

const UNITS = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 } as const
const BINARY_UNITS = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}
const FACTORS: Readonly<Record<string, number>> = { '': 1, ...UNITS, ...BINARY_UNITS }

/** An amount of bytes as Kubernetes writes it. */
export function quantity() {
  const form = /^([0-9]+(?:\.[0-9]+)?)(Ki|Mi|Gi|Ti|Pi|Ei|m|k|M|G|T|P|E)?$/
  return v.pipe(
    v.string(),
    v.regex(form, 'must be a quantity such as 20Gi'),
    v.transform((written) => {
      const [, amount, unit = ''] = form.exec(written) ?? []
      return Math.floor(Number(amount) * (FACTORS[unit] ?? 1))
    }),
  )
}

/** `true` or `false`. */
export const flag = () =>
  v.pipe(
    v.picklist(['true', 'false'], 'must be "true" or "false"'),
    v.transform((text) => text === 'true'),
  )

/** A non-empty text of at least `minLength` characters. */
export const text = (minLength = 1) =>
  v.pipe(
    v.string(),
    v.minLength(
      minLength,
      minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`,
    ),
  )

/** An absolute http(s) URL, without a trailing slash. */
export const httpUrl = () =>
  v.pipe(
    v.string(),
    v.check(isHttpUrl, 'must be an absolute http:// or https:// URL'),
    v.transform((url) => url.replace(/\/+$/, '')),
  )

function isHttpUrl(value: string): boolean {
  return /^https?:\/\//.test(value) && URL.canParse(value)
}

/** Origins, by commas. */
export const origins = () =>
  v.pipe(
    v.string(),
    v.transform((list) => list.split(',').map((each) => each.trim())),
    v.transform((list) => list.filter((each) => each !== '')),
    v.array(v.pipe(v.string(), v.check(isOrigin, 'must be origins such as https://idp.corp:8443'))),
  )

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

const unset = v.pipe(
  v.literal(''),
  v.transform((): undefined => undefined),
)

/** Optional; an empty string counts as not set, as Kubernetes manifests write it. */
export const optional = <Schema extends v.BaseSchema<unknown, unknown, v.BaseIssue<unknown>>>(
  schema: Schema,
) => v.optional(v.lazy((input) => (input === '' ? unset : schema)))

/** The least level that is logged. */
export const logLevel = v.optional(
  oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const),
  'info',
)
