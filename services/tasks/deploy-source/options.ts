import { parseArgs } from 'node:util'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'

/** The help of the task. */
export const DEPLOY_USAGE = `Usage: npm run task -- automations:deploy DIR --to URL [options]

Packs the project in a directory, deploys it over the API of a platform, and follows it until its
crew is online. Environments, caches, .git and .env are left out. It reads no database: a token of
the organization in PLATFORM_TOKEN is enough.

  --to URL           the automation, as its page shows it:
                     https://HOST/designer/v2/automations/ID
  --create NAME      create an automation of that name first; --to is the platform: https://HOST
  --timeout SECONDS  how long to wait until it is online (default: 900); 0: do not wait
  --json             print one JSON object instead of text
  --help             print this

Exit code: 0 when the crew is online (or the source is deployed, without waiting), 2 when the source
is refused or the crew fails, 3 when it is not online in time, 1 for anything else.
`

const OPTIONS = {
  to: { type: 'string' },
  create: { type: 'string' },
  timeout: { type: 'string', default: '900' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const
const TIMEOUT_SECONDS_MAX = 86_400

/** What somebody asks the task for. */
export interface DeployRequest {
  readonly directory: string
  /** Of the automation, or of the platform where one is to be created. */
  readonly url: URL
  readonly create: string | undefined
  readonly token: string
  /** 0: it does not wait. */
  readonly timeoutMs: number
  readonly json: boolean
}

/** Reads the arguments of the task; undefined asks for its help. Raises `invalid_request`. */
export function readDeployRequest(
  args: readonly string[],
  source: EnvSource,
): DeployRequest | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [directory, ...others] = positionals
  if (directory === undefined || others.length > 0) throw wrong('Name one directory.')
  const token = source['PLATFORM_TOKEN'] ?? ''
  if (!/^[\x21-\x7e]{1,500}$/.test(token)) {
    throw wrong('Put a token of your organization into PLATFORM_TOKEN.')
  }
  const seconds = /^\d{1,5}$/.test(values.timeout) ? Number(values.timeout) : Infinity
  if (seconds > TIMEOUT_SECONDS_MAX) {
    throw wrong(`--timeout is a number of seconds up to ${TIMEOUT_SECONDS_MAX}.`)
  }
  const { create, json } = values
  const url = readUrl(values.to ?? '', create)
  return { directory, url, create, token, timeoutMs: seconds * 1000, json }
}

const AUTOMATION = /\/designer\/v2\/automations\/[0-9a-f-]{36}\/?$/

function readUrl(text: string, create: string | undefined): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url && isWeb && (create !== undefined || AUTOMATION.test(url.pathname))) return url
  throw wrong(
    create === undefined
      ? '--to is the address of an automation: https://HOST/designer/v2/automations/ID.'
      : '--to is the address of the platform: https://HOST.',
  )
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (thrown) {
    throw wrong(toError(thrown).message)
  }
}

const wrong = (problem: string): AppError =>
  new AppError('invalid_request', `${problem}\n\n${DEPLOY_USAGE}`)
