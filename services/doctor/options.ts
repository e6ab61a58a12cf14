import { parseArgs } from 'node:util'
import type { EnvSource } from '../shared/env.ts'
import { AppError, toError } from '../shared/errors.ts'
import type { AskOptions } from './ask.ts'
import type { Selection } from './selection.ts'

const WAIT_SECONDS = 300

/** The help text. */
export const USAGE = `Usage: npm run doctor -- --url <base URL> [options]
       node doctor.mjs --url <base URL> [options]

Asks a platform for its diagnostic report. In a pod of web it asks that pod without any option.

  --url <URL>          Where the platform is, such as https://platform.example.com.
  --pods <URL,URL,…>   Asks each pod of web directly instead, and compares their OAuth keys.
  --token <token>      The debug token. PLATFORM_DEBUG_TOKEN is the better place: it does not
                       show in the process list.
  --only <name,…>      Judges by these checks only, such as database,auth.
  --skip <name,…>      Leaves these checks out.
  --wait[=<seconds>]   Asks until the report is ok, or the time is over. [300]
  --diff <file>        Says what changed since the last good report, which the file keeps.
  --timeout <seconds>  How long to wait for a report. [15]
  --json               Prints the reports as JSON; docs/doctor-report.schema.json has the schema.
  --help

Exit code: 0 ok, 1 degraded, 2 fail, 3 unreachable or not found, 64 wrong use. With several pods,
the worst.
`

/** The command line. */
export interface DoctorOptions extends AskOptions, Selection {
  readonly urls: readonly string[]
  /** True if the addresses are pods of one platform. */
  readonly pods: boolean
  readonly json: boolean
  /** Undefined asks once. */
  readonly waitMs: number | undefined
  /** The file of the last good report, to compare with. */
  readonly diff: string | undefined
}

/** Reads the command line; undefined asks for help. Raises `invalid_request`. */
export function readOptions(args: readonly string[], env: EnvSource): DoctorOptions | undefined {
  const given = parse(args)
  if (given.help) return undefined
  const token = given.token ?? env['PLATFORM_DEBUG_TOKEN'] ?? ''
  if (!token) throw wrong('No token is given. Set PLATFORM_DEBUG_TOKEN, or pass --token.')
  const pods = readList(given.pods)
  if (pods.length > 0 && given.diff !== undefined) {
    throw wrong('--diff compares one report: pass --url instead of --pods.')
  }
  const urls = pods.length > 0 ? pods : [given.url ?? ownAddress(env)]
  return {
    urls: urls.map(readUrl),
    pods: pods.length > 0,
    token,
    timeoutMs: readSeconds('timeout', given.timeout ?? '15', 600) * 1000,
    json: given.json ?? false,
    only: readList(given.only),
    skip: readList(given.skip),
    waitMs: given.wait === undefined ? undefined : readSeconds('wait', given.wait, 86_400) * 1000,
    diff: given.diff,
  }
}

function parse(args: readonly string[]) {
  const options = {
    url: { type: 'string' },
    pods: { type: 'string' },
    token: { type: 'string' },
    only: { type: 'string' },
    skip: { type: 'string' },
    wait: { type: 'string' },
    diff: { type: 'string' },
    timeout: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const
  const filled = args.map((arg) => (arg === '--wait' ? `--wait=${WAIT_SECONDS}` : arg))
  try {
    return parseArgs({ args: filled, options, allowPositionals: false }).values
  } catch (thrown) {
    throw wrong(toError(thrown).message)
  }
}

function readSeconds(name: string, text: string, max: number): number {
  const seconds = Number(text)
  if (seconds > 0 && seconds <= max) return seconds
  throw wrong(`--${name} takes seconds between 0 and ${max}, not "${text}".`)
}

const readList = (text = ''): readonly string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

/** The address of the pod that this program runs in; empty outside of a pod of web. */
const ownAddress = ({ POD_NAME, PORT }: EnvSource): string =>
  POD_NAME && PORT ? `http://127.0.0.1:${PORT}` : ''

function readUrl(text: string): string {
  if (text === '') throw wrong('No address is given: pass --url, or --pods.')
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw wrong(`"${text}" is no address. It begins with http:// or https://.`)
  }
  return text.replace(/\/+$/, '')
}

const wrong = (message: string): AppError => new AppError('invalid_request', message)
