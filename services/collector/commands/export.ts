import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Writable } from 'node:stream'
import { backoffMs } from '../../shared/backoff.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { askCollector, readTarget, TARGET_OPTIONS } from './collector-client.ts'
import type { Target } from './collector-client.ts'
import type { Command, Output } from './command.ts'
import { readLines } from './lines.ts'
import { readArguments } from './options.ts'

const USAGE = `Usage: npm run --silent collector -- export --url URL --from TIME [options]
       node build/collector/main.js export --url URL --from TIME [options]

Writes the spans that start in a range of time as lines of OTLP JSON, in the order of their start.
Spans that arrive later with an earlier start are not in it: export ranges that are over. When the
connection is lost, it continues where it was. The secret comes from the environment.

  --url URL           the collector, such as http://collector:8080
  --from TIME         the first start, such as 2026-11-21 or 2026-11-21T09:30:00Z
  --until TIME        the first start that is not exported (default: now)
  --org NAME          the organization whose spans they are; without it those of all
  --crew ID           only traces of which a span has this automation id; likewise
  --kickoff ID        with this kickoff id,
  --session ID        with this session id,
  --user ID           with this user id
  --out FILE          where to write them, a new file (default: the standard output)
  --cursor CURSOR     continue behind the line with this cursor
  --secret-env NAME   the variable that holds the secret (default: COLLECTOR_JWT_SECRET)
  --timeout-ms N      until each response begins, 100 to 60000 (default: 10000)
  --help              print this

Exit code 0: the export is whole. 1: it is not; the message has the cursor to continue from. 3: it
could not be tried, as the command line or the secret is wrong, or the collector refuses.
`

/** The longest line, as of a span that is as large as a body may be. */
const MAX_LINE_BYTES = 512 << 20
/** In a row without a single line. */
const ATTEMPTS = 10
const BACKOFF = { firstMs: 250, maxMs: 10_000 }
const FILTERS = ['crew', 'kickoff', 'session', 'user'] as const

/** It stands at the end of a line, where no text of a span can be. */
const CURSOR = /"cursor":"([\w-]+)"(?:,"complete":true)?\}$/

interface Progress {
  cursor: string | undefined
  lines: number
  isComplete: boolean
}

/**
 * `main.js export`: exit code 0 when all was written, 1 when something is missing, 3 when that
 * could not be tried.
 */
export const exportCommand: Command = async (args, source, output) => {
  const text = { type: 'string' } as const
  const options = {
    ...TARGET_OPTIONS,
    from: text,
    until: text,
    crew: text,
    kickoff: text,
    session: text,
    user: text,
    out: text,
    cursor: text,
  }
  const values = readArguments(args, options, USAGE)
  if (values.help) return output.out(USAGE)
  const scopes = ['traces:read'] as const
  const target = readTarget(values, source, { issuer: 'export', usage: USAGE, scopes })
  if (values.from === undefined) {
    throw new AppError('invalid_configuration', `--from is required.\n\n${USAGE}`)
  }
  // The same end for each attempt.
  const query = new URLSearchParams({
    from: values.from,
    until: values.until ?? new Date().toISOString(),
  })
  for (const filter of FILTERS) {
    const value = values[filter]
    if (value !== undefined) query.set(filter, value)
  }
  const progress: Progress = { cursor: values.cursor, lines: 0, isComplete: false }
  const file = values.out === undefined ? process.stdout : await create(values.out)
  await exportAll(target, { query, progress, file })
  if (file !== process.stdout) await new Promise<void>((resolve) => file.end(resolve))
  return report(progress, output)
}

/** Raises `invalid_configuration` when there is a file already: it may be another export. */
async function create(path: string): Promise<Writable> {
  const file = createWriteStream(path, { flags: 'wx' })
  try {
    await once(file, 'open')
    return file
  } catch (thrown) {
    const { message } = toError(thrown)
    throw new AppError('invalid_configuration', `--out cannot be written: ${message}`)
  }
}

function report({ cursor, lines, isComplete }: Progress, { error }: Output): number {
  if (isComplete) {
    error(`${lines} lines; the export is whole.\n`)
    return 0
  }
  error(`${lines} lines; the export is not whole. Go on with: --cursor ${cursor ?? ''}\n`)
  return 1
}

interface Job {
  readonly query: URLSearchParams
  readonly progress: Progress
  readonly file: Writable
}

/** Asks again, from the last line on, until the export is whole or nothing more comes. */
async function exportAll(target: Target, job: Job): Promise<void> {
  const { progress } = job
  for (let attempt = 1; !progress.isComplete && attempt <= ATTEMPTS; attempt++) {
    const before = progress.lines
    const reason = await exportSome(target, job)
    if (progress.lines > before) attempt = 1
    else if (attempt === ATTEMPTS && progress.lines === 0) throw new AppError('unavailable', reason)
    if (!progress.isComplete) await delay(backoffMs(attempt, BACKOFF))
  }
}

/** Returns why it ended, when that was too early. Raises an error when the collector refuses. */
async function exportSome(target: Target, job: Job): Promise<string> {
  const { query, progress } = job
  if (progress.cursor !== undefined) query.set('cursor', progress.cursor)
  try {
    const response = await askCollector(target, `/api/export?${query.toString()}`)
    if (response.status !== 200) return await refusal(target, response)
    if (response.body) await copyLines(response.body, job)
    return `${target.url} ended the export before its end.`
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code !== 'unavailable') throw thrown
    return toError(thrown).message
  }
}

async function refusal({ url }: Target, response: Response): Promise<string> {
  const said = `${url} answers ${response.status}: ${(await response.text()).slice(0, 500)}`
  if (response.status >= 500) return said
  throw new AppError('forbidden', said)
}

/** Writes whole lines only, and no faster than the file takes them. */
async function copyLines(body: AsyncIterable<Uint8Array>, { progress, file }: Job): Promise<void> {
  for await (const { text, isEnded } of readLines(body, MAX_LINE_BYTES)) {
    if (text === undefined || !isEnded) return
    if (!file.write(`${text}\n`)) await once(file, 'drain')
    progress.lines++
    progress.cursor = CURSOR.exec(text)?.[1] ?? progress.cursor
    progress.isComplete = text.endsWith('"complete":true}')
  }
}
