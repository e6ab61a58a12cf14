import { setTimeout as sleep } from 'node:timers/promises'
import { appendCrewLog, LOG_STREAMS } from '../../platform/crews/crew-logs.ts'
import type { LogStream } from '../../platform/crews/crew-logs.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Database } from '../../shared/postgres/database.ts'

/** What is printed within this time is written together. */
const GATHER_MS = 500
const WRITE_MS = 10_000
/** The most that waits to be written, such as while the database is unavailable. */
const WAITING_CHARACTERS_MAX = 500_000
const CUT = '… some lines were lost: there were too many at once.\n'
/** Shorter ones would be found in words that are no secrets. */
const SECRET_CHARACTERS_MIN = 8

/** The output of one deployment, on its way to the database. */
export interface CrewLogWriter {
  /** Adds some lines. Never raises. */
  readonly write: (stream: LogStream, text: string) => void
  /** Takes the secrets out of a text. */
  readonly hide: (text: string) => string
  /** Waits until what was added is written, or cannot be. */
  flush(): Promise<void>
}

interface Writing {
  readonly sql: Database
  readonly log: Log
  readonly crewDeploymentId: number
  /** Replaced by asterisks wherever they are printed. */
  readonly secrets: readonly string[]
}

/** Keeps what a deployment prints, without the secrets that it was given. */
export function createCrewLogWriter(writing: Writing): CrewLogWriter {
  const { sql, log, crewDeploymentId, secrets } = writing
  const masked = secrets.filter(({ length }) => length >= SECRET_CHARACTERS_MIN)
  const hide = (text: string): string => mask(text, masked)
  const waiting: Record<LogStream, string> = { build: '', crew: '' }
  let writer: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    await sleep(GATHER_MS)
    for (const stream of LOG_STREAMS) {
      const text = waiting[stream]
      waiting[stream] = ''
      if (text === '') continue
      await deadline({ name: 'PostgreSQL', timeoutMs: WRITE_MS }, () =>
        appendCrewLog(sql, { crewDeploymentId, stream }, hide(text)),
      )
    }
  }

  async function writeUntilDone(): Promise<void> {
    try {
      while (LOG_STREAMS.some((stream) => waiting[stream] !== '')) await writeAll()
    } catch (thrown) {
      const reason = toError(thrown).message
      log.warn({ crew_deployment: crewDeploymentId, reason }, 'lines of a crew could not be kept')
    } finally {
      writer = undefined
    }
  }

  return {
    hide,
    write(stream, text) {
      if (text === '') return
      const line = text.endsWith('\n') ? text : `${text}\n`
      const isFull = waiting[stream].length + line.length > WAITING_CHARACTERS_MAX
      if (!isFull) waiting[stream] += line
      else if (!waiting[stream].endsWith(CUT)) waiting[stream] += CUT
      writer ??= writeUntilDone()
    },
    async flush() {
      await writer
    },
  }
}

/** Replaces secrets in a text by asterisks. */
export const mask = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
