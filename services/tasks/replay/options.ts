import { parseArgs } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import type { Address } from '../resources/api.ts'
import { ADDRESS, ADDRESS_USAGE, guarded, readAddress, refusalWith } from '../resources/options.ts'

/** The help of `replay`. */
export const REPLAY_USAGE = `Usage: npm run task -- replay --automation ID --version N [options]

Performs recorded runs of an automation again with a version of its project, and says which step of
each differs first. Tools and people answer from the record and are never asked, and models with
--live alone. It reads no database: a token with the scope design is enough.

${ADDRESS_USAGE}
  --automation ID    the automation, as its page shows it
  --version N        the version that performs the runs; also a draft
  --offline          ask no model: a run ends where the record has no answer
  --live             ask models, and nobody else, what the record does not answer: that costs money
  --tokens-max N     what the models of a live replay may take in all (default: 1000000)
  --last N           the newest runs that have ended (default: 20, at most 1000)
  --status STATUS    only those that are completed or error (default: any)
  --of-version N     only those of this version
  --run ID           this run, in place of the newest; may be repeated
  --timeout SECONDS  how long to wait until all are done (default: 1800)
  --json             print one JSON object instead of text
  --help             print this

Exit code: 0 when all runs are equal, 2 when one differs, 4 when none differs and one cannot be
replayed, 3 when the platform cannot be reached or it is not done in time, 1 for anything else.
`

const OPTIONS = {
  ...ADDRESS,
  automation: { type: 'string' },
  version: { type: 'string' },
  offline: { type: 'boolean', default: false },
  live: { type: 'boolean', default: false },
  'tokens-max': { type: 'string' },
  last: { type: 'string' },
  status: { type: 'string' },
  'of-version': { type: 'string' },
  run: { type: 'string', multiple: true },
  timeout: { type: 'string', default: '1800' },
} as const

/** What a person asks `replay` for. */
export interface ReplayRequest extends Address {
  readonly automationId: string
  /** The fields of the replay, as the API takes them. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly timeoutMs: number
  readonly json: boolean
}

/** Reads the arguments of `replay`; undefined asks for its help. Raises `invalid_request`. */
export function readReplayRequest(
  args: readonly string[],
  source: EnvSource,
): ReplayRequest | undefined {
  const wrong = refusalWith(REPLAY_USAGE)
  const { values } = guarded(wrong, () => parseArgs({ args: [...args], options: OPTIONS }))
  if (values.help) return undefined
  const { automation = '', version, last, status, run: ids, timeout, json, live } = values
  if (!/^[0-9a-f-]{36}$/i.test(automation)) {
    throw wrong('--automation is the id of an automation, as its page Integrate shows it.')
  }
  if (values.offline === live) {
    throw wrong('Say --offline, which asks no model, or --live, which asks some.')
  }
  const whole = (name: string, given: string | undefined): number | undefined => {
    if (given === undefined) return undefined
    if (/^[1-9]\d{0,8}$/.test(given)) return Number(given)
    throw wrong(`--${name} is a whole number from 1, not ${JSON.stringify(given)}.`)
  }
  const number = whole('version', version)
  if (number === undefined) throw wrong('Name the --version that performs the runs.')
  const chosen = {
    last: whole('last', last),
    status,
    of_version: whole('of-version', values['of-version']),
    kickoff_ids: ids,
    mode: live ? 'live' : 'offline',
    tokens_max: whole('tokens-max', values['tokens-max']),
  }
  return {
    ...readAddress(values, source, wrong),
    automationId: automation,
    fields: { version: number, ...chosen },
    timeoutMs: (whole('timeout', timeout) ?? 0) * 1000,
    json,
  }
}
