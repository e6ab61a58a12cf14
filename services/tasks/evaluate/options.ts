import { parseArgs } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import type { Address } from '../resources/api.ts'
import { ADDRESS, ADDRESS_USAGE, guarded, readAddress, refusalWith } from '../resources/options.ts'

/** The help of `evaluate`. */
export const EVALUATE_USAGE = `Usage:
  npm run task -- evaluate --automation ID --set NAME --version N [options]

Performs the cases of a set with a version, checks what is put out, and says how many cases pass.
It really asks the models of the version, and really calls its tools. It reads no database: a token
with the scope design is enough.

${ADDRESS_USAGE}
  --automation ID    the automation, as its page shows it
  --set NAME         the set of cases
  --version N        the version that performs them; also a draft
  --against N        a version beside it: both are compared
  --repeat K         how often each case is performed (default: 1, at most 10)
  --newest N         only the newest cases (default: all)
  --at-least SHARE   the share of the cases that has to pass, from 0 to 1 (default: 1)
  --no-worse         no case may fail that the version of --against passes
  --timeout SECONDS  how long to wait until all are done (default: 3600)
  --json             print one JSON object instead of text
  --help             print this

Exit code: 0 when enough cases pass, 2 when they do not, 3 when the platform cannot be reached or it
is not done in time, 4 when it was given up, 1 for anything else.
`

const OPTIONS = {
  ...ADDRESS,
  automation: { type: 'string' },
  set: { type: 'string' },
  version: { type: 'string' },
  against: { type: 'string' },
  repeat: { type: 'string' },
  newest: { type: 'string' },
  'at-least': { type: 'string', default: '1' },
  'no-worse': { type: 'boolean', default: false },
  timeout: { type: 'string', default: '3600' },
} as const

/** What a person asks `evaluate` for. */
export interface EvaluateRequest extends Address {
  readonly automationId: string
  /** The fields of the evaluation, as the API takes them. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly atLeast: number
  readonly noWorse: boolean
  readonly timeoutMs: number
  readonly json: boolean
}

/** Reads the arguments of `evaluate`; undefined asks for its help. Raises `invalid_request`. */
export function readEvaluateRequest(
  args: readonly string[],
  source: EnvSource,
): EvaluateRequest | undefined {
  const wrong = refusalWith(EVALUATE_USAGE)
  const { values } = guarded(wrong, () => parseArgs({ args: [...args], options: OPTIONS }))
  if (values.help) return undefined
  const { automation = '', set = '', version, against, repeat, newest, json } = values
  if (!/^[0-9a-f-]{36}$/i.test(automation)) {
    throw wrong('--automation is the id of an automation, as its page Integrate shows it.')
  }
  if (set === '') throw wrong('Name the --set of cases.')
  const whole = (name: string, given: string | undefined): number | undefined => {
    if (given === undefined) return undefined
    if (/^[1-9]\d{0,8}$/.test(given)) return Number(given)
    throw wrong(`--${name} is a whole number from 1, not ${JSON.stringify(given)}.`)
  }
  const number = whole('version', version)
  if (number === undefined) throw wrong('Name the --version that performs the cases.')
  const share = values['at-least']
  if (!/^(0|1|0?\.\d{1,6}|1\.0+)$/.test(share)) {
    throw wrong(`--at-least is a number from 0 to 1, such as 0.9, not ${JSON.stringify(share)}.`)
  }
  const noWorse = values['no-worse']
  if (noWorse && against === undefined) throw wrong('--no-worse needs --against.')
  const chosen = {
    against: whole('against', against),
    repeat: whole('repeat', repeat),
    newest: whole('newest', newest),
  }
  return {
    ...readAddress(values, source, wrong),
    automationId: automation,
    fields: { set, version: number, ...chosen },
    atLeast: Number(share),
    noWorse,
    timeoutMs: (whole('timeout', values.timeout) ?? 0) * 1000,
    json,
  }
}
