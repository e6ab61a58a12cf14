import { createReadStream } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { backoffMs } from '../../shared/backoff.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import { askCollector, readTarget, TARGET_OPTIONS } from './collector-client.ts'
import type { Target } from './collector-client.ts'
import type { Command, Output } from './command.ts'
import { readLines } from './lines.ts'
import type { Line } from './lines.ts'
import { readCommandLine } from './options.ts'

const USAGE = `Usage: npm run --silent collector -- import FILE… --url URL [options]
       node build/collector/main.js import FILE… --url URL [options]

Sends the lines of OTLP JSON in these files to the collector, such as those of an export; - is the
standard input. A file whose name ends with .gz is decompressed. To repeat it is harmless: what is
stored already is not stored twice. Spans that started before the retention, or more than a day
ahead, are rejected; the report says so. The secret comes from the environment.

  --url URL           the collector, such as http://collector:8080
  --org NAME          the organization whose spans they become (default: what the resources say,
                      or the platform itself)
  --secret-env NAME   the variable that holds the secret (default: COLLECTOR_JWT_SECRET)
  --timeout-ms N      for each of the requests, 100 to 60000 (default: 10000)
  --help              print this

Exit code 0: all lines were taken. 1: some lines or spans were not, or an export is not whole; the
report has their numbers and the reasons. 3: it could not be tried, or was given up, as the command
line or the secret is wrong, a file cannot be read, or the collector takes nothing.
`

/** The longest body that a collector takes, whatever its settings. */
const MAX_LINE_BYTES = 64 << 20
const SHOWN_PROBLEMS = 100
const PROGRESS_LINES = 500
/** More than the time in which a collector is replaced or its database restarted. */
const ATTEMPTS = 12
const BACKOFF = { firstMs: 250, maxMs: 10_000 }

/** The counts of a file. */
interface Tally {
  lines: number
  spans: number
  rejected: number
  /** Lines that were not taken at all. */
  refused: number
  problems: number
  /** Whether lines of an export of this collector were seen, and its last one. */
  isExport: boolean
  isComplete: boolean
}

/**
 * `main.js import`: exit code 0 when all was taken, 1 when something was not, 3 when that could not
 * be tried.
 */
export const importCommand: Command = async (args, source, output) => {
  const { values, positionals } = readCommandLine(args, TARGET_OPTIONS, USAGE)
  if (values.help) return output.out(USAGE)
  if (positionals.length === 0) {
    throw new AppError('invalid_configuration', `Which files?\n\n${USAGE}`)
  }
  const scopes = ['traces:write'] as const
  const target = readTarget(values, source, { issuer: 'import', usage: USAGE, scopes })
  let isWhole = true
  for (const file of positionals) isWhole = (await importFile(target, file, output)) && isWhole
  return isWhole ? 0 : 1
}

async function importFile(target: Target, file: string, output: Output): Promise<boolean> {
  const tally: Tally = {
    lines: 0,
    spans: 0,
    rejected: 0,
    refused: 0,
    problems: 0,
    isExport: false,
    isComplete: false,
  }
  const report = (line: number, reason: string): void => {
    if (++tally.problems <= SHOWN_PROBLEMS) output.error(`${file}:${line}: ${reason}\n`)
  }
  try {
    for await (const line of readLines(bytesOf(file), MAX_LINE_BYTES)) {
      if (line.text?.trim() === '') continue
      await importLine(target, { line, tally, report })
      tally.lines++
      if (tally.lines % PROGRESS_LINES === 0) output.error(`${file}: ${describe(tally)}\n`)
    }
  } catch (thrown) {
    throw unreadable(file, thrown)
  }
  if (tally.isExport && !tally.isComplete) {
    report(tally.lines, 'the export ends here before its end; export the rest with --cursor')
  }
  if (tally.problems > SHOWN_PROBLEMS) {
    output.error(`${file}: ${tally.problems - SHOWN_PROBLEMS} more problems\n`)
  }
  output.out(`${file}: ${describe(tally)}\n`)
  return tally.problems === 0
}

const describe = ({ lines, spans, rejected, refused }: Tally): string =>
  `${lines} lines, ${spans} spans stored or there already, ${rejected} rejected; ` +
  `${refused} lines were not taken`

function unreadable(file: string, thrown: unknown): unknown {
  const { message, ...rest } = toError(thrown)
  if (!('code' in rest) || thrown instanceof AppError) return thrown
  return new AppError('invalid_configuration', `${file} cannot be read: ${message}`)
}

function bytesOf(file: string): AsyncIterable<Uint8Array> {
  if (file === '-') return process.stdin
  const stream = createReadStream(file)
  if (!file.endsWith('.gz')) return stream
  const inflated = createGunzip()
  stream.on('error', (error) => inflated.destroy(error))
  return stream.pipe(inflated)
}

interface Task {
  readonly line: Line
  readonly tally: Tally
  readonly report: (line: number, reason: string) => void
}

async function importLine(target: Target, { line, tally, report }: Task): Promise<void> {
  const request = readRequest(line)
  if (typeof request === 'string') {
    tally.refused++
    report(line.number, request)
    return
  }
  tally.isExport ||= request.isExport
  tally.isComplete = request.isComplete
  if (request.spans === 0) return
  const { rejected, problem } = await post(target, line.text ?? '')
  if (rejected === 'all') tally.refused++
  else {
    tally.rejected += rejected
    tally.spans += request.spans - rejected
  }
  if (problem) report(line.number, problem)
}

interface LineRequest {
  readonly spans: number
  readonly isExport: boolean
  readonly isComplete: boolean
}

/** What a line holds, or what is wrong with it. */
function readRequest({ text, isEnded }: Line): LineRequest | string {
  if (text === undefined) return `the line has more than ${MAX_LINE_BYTES} bytes`
  const request = parse(text)
  if (request === undefined) {
    return isEnded ? 'this is not JSON' : 'the line was cut off: the file ends within it'
  }
  const resources = isObject(request) ? request['resourceSpans'] : undefined
  if (!isObject(request) || !Array.isArray(resources)) {
    return 'this is no trace request of OTLP: it has no list "resourceSpans"'
  }
  return {
    spans: countSpans(resources),
    isExport: typeof request['cursor'] === 'string',
    isComplete: request['complete'] === true,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function countSpans(resources: readonly unknown[]): number {
  let count = 0
  for (const scope of resources.flatMap((resource) => listOf(resource, 'scopeSpans'))) {
    count += listOf(scope, 'spans').length
  }
  return count
}

function listOf(object: unknown, member: string): unknown[] {
  const list = isObject(object) ? object[member] : undefined
  return Array.isArray(list) ? list : []
}

interface Outcome {
  readonly rejected: number | 'all'
  readonly problem?: string | undefined
}

/** Sends a line until it is taken or refused. Raises an error when the collector takes nothing. */
async function post(target: Target, body: string): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const answer = await tryPost(target, body)
    if (typeof answer !== 'string') return answer
    if (attempt === ATTEMPTS) {
      throw new AppError(
        'unavailable',
        `${answer} Run it again later: what is stored is not stored twice.`,
      )
    }
    await delay(backoffMs(attempt, BACKOFF))
  }
}

/** A text says why to try again. */
async function tryPost(target: Target, body: string): Promise<Outcome | string> {
  const headers = { 'content-type': 'application/json' }
  let response: Response
  try {
    response = await askCollector(target, '/v1/traces', { method: 'POST', headers, body })
  } catch (thrown) {
    return toError(thrown).message
  }
  const answer = parse(await response.text())
  if (response.status === 200) return readPartialSuccess(answer)
  const message = isObject(answer) ? String(answer['message']) : ''
  const said = `${target.url} answers ${response.status}: ${message}`
  if (response.status === 503) return said
  if (response.status === 401 || response.status === 403) throw new AppError('forbidden', said)
  return { rejected: 'all', problem: said }
}

function readPartialSuccess(answer: unknown): Outcome {
  const partial = isObject(answer) ? answer['partialSuccess'] : undefined
  if (!isObject(partial)) return { rejected: 0 }
  return { rejected: Number(partial['rejectedSpans']), problem: String(partial['errorMessage']) }
}
