import { parseArgs } from 'node:util'
import * as v from 'valibot'
import type { EnvSource } from '../shared/env.ts'
import { AppError, toError } from '../shared/errors.ts'
import { isObject } from '../shared/is-object.ts'

/** The help text. */
export const USAGE = `Usage: npm run crew:verify -- URL [options]

Holds a crew against the crew contract (docs/crew-contract.md): its answers, its events, and, where
it keeps a journal, whether a run that is interrupted is resumed without paying twice. It performs a
few runs of the crew.

  URL                  Where the crew is, such as http://127.0.0.1:8000.
  --token <token>      The crew's token. CREW_TOKEN is the better place: it does not show in the
                       process list.
  --inputs <JSON>      The inputs of the runs. [a word for each name that GET /inputs lists]
  --model <name>       Answers for this model itself, so that nothing is paid. For each model that
                       the crew takes from the kickoff.
  --listen <host>      Where the crew reaches this program for those models. [127.0.0.1]
  --timeout <seconds>  The longest run. [60]
  --json               Prints the findings as JSON.
  --help

Exit code: 0 all held, 1 something did not, 3 unreachable, 64 wrong use.
`

/** The command line. */
export interface VerifyOptions {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
  readonly inputs: Readonly<Record<string, unknown>> | undefined
  readonly models: readonly string[]
  readonly listen: string
  readonly timeoutMs: number
  readonly json: boolean
}

const inputs = v.pipe(v.string(), v.parseJson(), v.custom<Record<string, unknown>>(isObject))

/** Reads the command line; undefined asks for help. Raises `invalid_request`. */
export function readOptions(args: readonly string[], env: EnvSource): VerifyOptions | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [url = '', ...others] = positionals
  if (others.length > 0) throw wrong(`One crew at a time: "${others.join(' ')}" is too much.`)
  const { timeout = '60', model: models = [], listen = '127.0.0.1', json = false } = values
  return {
    url: readUrl(url),
    token: readToken(values.token ?? env['CREW_TOKEN'] ?? ''),
    inputs: values.inputs === undefined ? undefined : readInputs(values.inputs),
    models,
    listen,
    timeoutMs: readSeconds(timeout) * 1000,
    json,
  }
}

function readSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds >= 1 && seconds <= 3600) return seconds
  throw wrong(`--timeout takes seconds between 1 and 3600, not "${text}".`)
}

function parse(args: readonly string[]) {
  const options = {
    token: { type: 'string' },
    inputs: { type: 'string' },
    model: { type: 'string', multiple: true },
    listen: { type: 'string' },
    timeout: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  } as const
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (thrown) {
    throw wrong(toError(thrown).message)
  }
}

function readUrl(text: string): string {
  if (text === '') throw wrong('No address is given.')
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw wrong(`"${text}" is no address. It begins with http:// or https://.`)
  }
  return text.replace(/\/+$/, '')
}

function readToken(token: string): string {
  if (token === '') throw wrong('No token is given. Set CREW_TOKEN, or pass --token.')
  if (!/^[\x21-\x7e]+$/.test(token)) throw wrong('The token has characters that no header takes.')
  return token
}

function readInputs(text: string): Record<string, unknown> {
  const result = v.safeParse(inputs, text)
  if (!result.success) throw wrong('--inputs takes a JSON object, such as {"topic": "bees"}.')
  return result.output
}

const wrong = (message: string): AppError => new AppError('invalid_request', message)
