import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { AppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { deadline } from '../../../shared/deadline.ts'
import { createWaitingLine } from '../../../shared/waiting-line.ts'
import { openArchiveStore } from './archive-store.ts'
import type { ArchivedFile } from './archive-store.ts'
import type { SoughtAttribute } from './attribute-holders.ts'
import type { DescribedFile } from './archive-files.ts'
import type { Rewritten, ToRestore } from './restore-traces.ts'
import type { ReaderAnswer, ReaderOutcome, ReaderQuestion, ReaderTask } from './reader-process.ts'

/** The files of archived days, as the collector uses them. */
export interface ColdDays {
  readonly store: ObjectStore
  /** Brings spans back into the database. Raises `unavailable`. */
  restore(missing: readonly ToRestore[]): Promise<void>
  /** The traces of a file with an attribute, by their UUIDs. Raises `unavailable`. */
  holdersOf(attribute: SoughtAttribute, file: ArchivedFile): Promise<ReadonlySet<string>>
  /** Writes files anew without a trace. Raises `unavailable`. */
  without(traceId: string, files: readonly DescribedFile[]): Promise<readonly Rewritten[]>
  close(): void
}

interface ColdDaysOptions {
  /** The collector's own file, which the process that reads files is started from. */
  readonly program: string | undefined
  readonly source: Readonly<Record<string, string | undefined>>
  readonly log: Log
}

/**
 * Opens the archived days that the variables name; undefined where they name no store. Starts
 * nothing before the first question for one. Raises `invalid_configuration`.
 */
export function openColdDays(
  config: Parameters<typeof openArchiveStore>[0],
  { program, ...options }: ColdDaysOptions,
): ColdDays | undefined {
  const store = openArchiveStore(config)
  if (!store) return undefined
  if (program === undefined) {
    const message = 'Archived days are read by a collector that is a program of its own.'
    throw new AppError('invalid_configuration', message)
  }
  const reader = createArchiveReader({ program, ...options })
  return {
    store,
    async restore(missing) {
      for (const restore of missing) await reader.perform({ restore })
    },
    async without(traceId, files) {
      return (await reader.perform({ without: traceId, files })).rewritten ?? []
    },
    holdersOf: rememberHolders(async (holdersOf, file) => {
      const { holders = [] } = await reader.perform({ holdersOf, file })
      return new Set(holders)
    }),
    close: () => reader.close(),
  }
}

type FindHolders = ColdDays['holdersOf']

/** Files, and traces in them with an attribute, that are remembered at the most. */
const REMEMBERED = { files: 4096, traces: 200_000 }

/** Remembers what files have: they never change, and each page of a list looks into them. */
function rememberHolders(find: FindHolders): FindHolders {
  const known = new Map<string, { readonly found: ReturnType<FindHolders>; traces: number }>()
  let traces = 0
  const forget = (key: string): void => {
    traces -= known.get(key)?.traces ?? 0
    known.delete(key)
  }
  return (attribute, file) => {
    const key = JSON.stringify([file.path, attribute])
    const one = known.get(key) ?? { found: find(attribute, file), traces: 0 }
    if (!known.has(key)) {
      known.set(key, one)
      one.found.then(
        ({ size }) => {
          if (known.get(key) !== one) return
          one.traces = size
          traces += size
        },
        () => known.delete(key),
      )
    }
    for (const oldest of known.keys()) {
      if (known.size <= REMEMBERED.files && traces <= REMEMBERED.traces) break
      forget(oldest)
    }
    return one.found
  }
}

/** Reads files of archived days in a process of its own, which may die. */
interface ArchiveReader {
  /** Raises `unavailable` when the process dies, and what it raises. */
  perform(task: ReaderTask): Promise<ReaderOutcome>
  close(): void
}

interface ArchiveReaderOptions {
  /** The collector's own file. */
  readonly program: string
  readonly source: Readonly<Record<string, string | undefined>>
  readonly log: Log
}

/** Megabytes of JavaScript objects; files are beside them, a few at a time. */
const HEAP_MB = 192
const TASK_MS = 600_000
const LINE = {
  concurrent: 2,
  waitingMax: 32,
  busy: 'Many archived traces are being read; try again.',
}

interface Waiting {
  readonly resolve: (outcome: ReaderOutcome) => void
  readonly reject: (error: Error) => void
}

/** Starts the process with its first task, and again after it has died. */
export function createArchiveReader({ program, source, log }: ArchiveReaderOptions): ArchiveReader {
  const line = createWaitingLine(LINE)
  const waiting = new Map<number, Waiting>()
  let child: ChildProcess | undefined
  let questions = 0

  function start(): ChildProcess {
    const execArgv = [`--max-old-space-size=${HEAP_MB}`]
    const started = fork(program, ['archive:reader'], { env: { ...source }, execArgv })
    started.on('message', ({ nr, failure, ...outcome }: ReaderAnswer) => {
      const one = waiting.get(nr)
      if (failure) one?.reject(new AppError(failure.code, failure.message, RETRY))
      else one?.resolve(outcome)
    })
    started.once('error', () => started.kill('SIGKILL'))
    started.once('exit', (code, signal) => {
      if (child === started) child = undefined
      if (waiting.size > 0) log.error({ code, signal }, 'the reader of archived days has died')
      for (const { reject } of waiting.values()) reject(readerDied())
    })
    return started
  }

  function ask(task: ReaderTask): Promise<ReaderOutcome> {
    child ??= start()
    const process = child
    const nr = ++questions
    return new Promise<ReaderOutcome>((resolve, reject) => {
      waiting.set(nr, { resolve, reject })
      process.send({ nr, task } satisfies ReaderQuestion, (error) => error && reject(readerDied()))
    }).finally(() => waiting.delete(nr))
  }

  return {
    async perform(task) {
      await line.enter()
      try {
        const limit = { name: 'The reader of archived days', timeoutMs: TASK_MS }
        return await deadline(limit, () => ask(task))
      } finally {
        line.leave()
      }
    },
    close: () => child?.disconnect(),
  }
}

const RETRY = { headers: { 'retry-after': '5' } }

const readerDied = (): AppError =>
  new AppError(
    'unavailable',
    'The program that reads archived days has ended; days that are not archived can be read.',
    RETRY,
  )
