import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createRandom } from '../../bench/support/requests.ts'
import { answerOf, dateOf, idOf, traceOf } from '../../services/collector/support/cold-days.ts'
import { requestOf, toProtobuf } from '../../services/collector/support/otlp.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import { A, B, tenantOf } from '../../services/collector/support/tokens.ts'
import { addressUrl } from '../../support/address-url.ts'
import { hasS3Server, startS3Server } from '../../support/s3-server.ts'
import { until } from '../../support/until.ts'
import { createStepProxy } from './step-proxy.ts'
import type { StepProxy } from './step-proxy.ts'

interface ArchiveFaultOptions {
  /** A migrated database, empty, of a server that has room for others. */
  readonly databaseUrl: string
  /** The bundle of the collector. */
  readonly main: string
  readonly kills: number
  readonly seed: number
  readonly onKill?: (kills: number) => void
}

export interface ArchiveFaultReport {
  readonly seed: number
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>
  /** How often all days were archived, from the same database. */
  readonly rounds: number
  readonly spans: number
  /** Messages of an undisturbed job to database and store. */
  readonly steps: number
  readonly store: 'bucket' | 'directory'
  /** Times at which spans were at no place, or at two. */
  readonly misplaced: number
  /** Answers that are others than before. */
  readonly wrongAnswers: readonly string[]
  /** Days of which `archive:verify` says something else. */
  readonly unverified: readonly string[]
  /** Files that nothing refers to and nothing would remove. */
  readonly orphans: number
  readonly isRight: boolean
}

/** Whole days are due from the one before the first of these on, parts of A from the second. */
const DUE = { all: 7, ofA: 1 }
const DAYS = [4, 5, 9, 10]
const TRACES = 6
/** Two whole days, and what A has of two others. */
const PARTS = 4
const KILL = 'job SIGKILL'
const FAULTS = [KILL, KILL, KILL, KILL, 'connections to the database cut', 'store cut'] as const
type Fault = (typeof FAULTS)[number]

/** Kills what archives days at any of its steps, again and again, and compares what there is. */
export async function runArchiveFaults(options: ArchiveFaultOptions): Promise<ArchiveFaultReport> {
  const stage = await openStage(options)
  const random = createRandom(options.seed)
  const faults: Record<string, number> = {}
  const found = { misplaced: 0, orphans: 0, rounds: 0, steps: 0 }
  const [wrongAnswers, unverified]: [string[], string[]] = [[], []]
  try {
    while ((faults[KILL] ?? 0) < options.kills) {
      found.rounds += 1
      const round = await openRound(stage, found.rounds)
      for (;;) {
        // A job has some parts; what was archived before it is killed stays.
        const at = 1 + Math.floor(random() * Math.max(found.steps / PARTS, 60))
        const fault = FAULTS[Math.floor(random() * FAULTS.length)] ?? KILL
        const job = await runJob(stage, round, { at, fault, arrives: random() < 0.5 })
        found.misplaced += (await countSpans(round.sql)) === stage.spans ? 0 : 1
        if (job.isDisturbed) {
          faults[fault] = (faults[fault] ?? 0) + 1
          if (fault === KILL) options.onKill?.(faults[KILL] ?? 0)
        }
        found.steps = Math.max(found.steps, job.steps)
        if (await isDone(round.sql)) break
      }
      unverified.push(...(await listUnverified(stage, round)))
      const collector = await spawnCollector(stage.main, { databaseUrl: round.url, env: round.env })
      const after = await answersOf(collector.url, stage.paths)
      await collector.kill('SIGTERM')
      wrongAnswers.push(...Object.keys(after).filter((key) => after[key] !== stage.answers[key]))
      found.orphans += await countOrphans(stage, round)
      await round.close()
    }
  } finally {
    await stage.close()
  }
  const wrong = found.misplaced + found.orphans + wrongAnswers.length + unverified.length
  const { seed } = options
  const { spans, store } = stage
  return { seed, faults, spans, store, ...found, wrongAnswers, unverified, isRight: wrong === 0 }
}

interface Stage {
  readonly main: string
  readonly databaseUrl: string
  readonly admin: Database
  readonly store: 'bucket' | 'directory'
  /** Where the files are. */
  readonly directory: string
  /** The variables of a program whose files are in a folder of it. */
  readonly envOf: (folder: string) => Readonly<Record<string, string>>
  /** To the database, and to the store if it is a bucket. */
  readonly proxies: readonly StepProxy[]
  readonly spans: number
  readonly paths: readonly string[]
  readonly answers: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Sends what is to be archived, and notes what is answered before. */
async function openStage({ main, databaseUrl }: ArchiveFaultOptions): Promise<Stage> {
  const address = parseAddress(databaseUrl)
  const toDatabase = await createStepProxy(address.port)
  const files = await openFiles()
  const collector = await spawnCollector(main, { databaseUrl, env: { RETENTION_WEEKS: '2' } })
  const at = { collector }
  const traces = DAYS.flatMap((day) =>
    [A, B, undefined].flatMap((organization) =>
      Array.from({ length: TRACES }, (_, nr) => ({ organization, spans: traceOf(day, nr * 1000) })),
    ),
  )
  for (const { organization, spans } of traces)
    await tenantOf(at, organization).send(toProtobuf(requestOf(...spans)))
  const sql = connectDatabase(address, { name: 'faults', max: 1 })
  await until(async () => {
    const notes = await sql`
      (select from touched_traces limit 1) union all (select from traces_to_extract limit 1)
      union all (select from days_to_roll_up where due_at <= now() limit 1)`
    return notes.length === 0
  })
  const paths = [
    '/api/traces?attribute=gen_ai.usage.input_tokens%3D70',
    '/api/traces?text=okapi',
    `/api/traces/totals?from=${dateOf(12)}`,
    `/api/export?from=${dateOf(12)}`,
    ...traces.filter((_, nr) => nr % 9 === 0).map(({ spans }) => `/api/traces/${idOf(spans)}`),
  ]
  const answers = await answersOf(collector.url, paths)
  const spans = await countSpans(sql)
  await sql.end()
  await collector.kill('SIGTERM')
  const admin = connectDatabase({ ...address, database: 'postgres' }, { name: 'faults', max: 1 })
  return {
    ...files,
    main,
    databaseUrl,
    admin,
    spans,
    paths,
    answers,
    proxies: [toDatabase, ...files.proxies],
    async close() {
      await admin.end()
      await toDatabase.close()
      await files.close()
    },
  }
}

type Files = Pick<Stage, 'store' | 'directory' | 'envOf' | 'proxies' | 'close'>

async function openFiles(): Promise<Files> {
  if (!hasS3Server) {
    const directory = await mkdtemp(join(tmpdir(), 'archive-'))
    return {
      store: 'directory',
      directory,
      envOf: (folder) => ({ COLLECTOR_ARCHIVE_DIRECTORY: join(directory, folder) }),
      proxies: [],
      close: () => rm(directory, { recursive: true }),
    }
  }
  const server = await startS3Server()
  const toStore = await createStepProxy(Number(new URL(server.endpoint).port))
  const { accessKeyId, secretAccessKey } = server.login
  return {
    store: 'bucket',
    directory: server.directory,
    envOf: (folder) => ({
      COLLECTOR_ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${toStore.port}`,
      COLLECTOR_ARCHIVE_S3_BUCKET: 'backups',
      COLLECTOR_ARCHIVE_S3_PREFIX: folder,
      COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: accessKeyId,
      COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: secretAccessKey,
    }),
    proxies: [toStore],
    async close() {
      await toStore.close()
      server.stop()
    },
  }
}

interface Round {
  readonly sql: Database
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  /** Below the files of the stage. */
  readonly folder: string
  close(): Promise<void>
}

/** Begins with the database as it was, and no files. */
async function openRound({ admin, databaseUrl, envOf }: Stage, nr: number): Promise<Round> {
  const address = parseAddress(databaseUrl)
  const own = { ...address, database: `${address.database}_${nr}` }
  await admin.unsafe(`create database ${own.database} template ${address.database}`)
  const sql = connectDatabase(own, { name: 'faults', max: 1 })
  await sql`update retention set hot_days = ${DUE.all}`
  await sql`insert into organization_hot_days values (${A}, ${DUE.ofA})`
  const folder = `round-${nr}/`
  return {
    sql,
    url: addressUrl(own),
    env: { ...envOf(folder), RETENTION_WEEKS: '2' },
    folder,
    async close() {
      await sql.end()
      await admin.unsafe(`drop database ${own.database} with (force)`)
    },
  }
}

interface Disturbance {
  /** The step at which it happens. */
  readonly at: number
  readonly fault: Fault
  /** Whether the message of that step arrives. */
  readonly arrives: boolean
}

/** Runs the job once; it ends by itself where it has fewer steps. */
async function runJob(stage: Stage, round: Round, { at, fault, arrives }: Disturbance) {
  const [toDatabase, toStore] = stage.proxies
  const own = { ...parseAddress(round.url), host: '127.0.0.1', port: toDatabase?.port ?? 0 }
  const child = spawn(process.execPath, [stage.main, 'archive'], {
    env: { ...round.env, DATABASE_URL: addressUrl(own), LOG_LEVEL: 'silent' },
    stdio: 'ignore',
  })
  let steps = 0
  let isDisturbed = false
  for (const proxy of stage.proxies)
    proxy.onStep = () => {
      steps += 1
      if (steps !== at) return true
      isDisturbed = true
      if (fault === KILL) {
        child.kill('SIGKILL')
        return arrives
      }
      const cut = fault === 'store cut' ? toStore : toDatabase
      if (arrives) setImmediate(() => cut?.cut())
      else cut?.cut()
      // No message is lost on a connection that stays.
      return arrives || cut !== proxy
    }
  await once(child, 'exit')
  return { steps, isDisturbed }
}

/** Those in the database, and those in files that stand for others. */
async function countSpans(sql: Database): Promise<number> {
  const [row] = await sql<{ spans: number }[]>`
    select ((select count(*) from spans)
      + (select coalesce(sum(spans), 0) from cold_files))::int as spans`
  return row?.spans ?? 0
}

/** Whether all that is due is archived. */
async function isDone(sql: Database): Promise<boolean> {
  const [row] = await sql<{ isDone: boolean }[]>`
    select (select count(*) from archived_days where state = 'dropped') = 2
      and (select count(*) from archived_parts where state = 'dropped') >= 2 as is_done`
  return row?.isDone === true
}

async function listUnverified({ main }: Stage, { url, env }: Round): Promise<string[]> {
  const codes = DAYS.map(async (day) => {
    const child = spawn(process.execPath, [main, 'archive:verify', dateOf(day)], {
      env: { ...env, DATABASE_URL: url },
      stdio: 'ignore',
    })
    const [code] = (await once(child, 'exit')) as [number]
    return code === 0 ? [] : [dateOf(day)]
  })
  return (await Promise.all(codes)).flat()
}

async function answersOf(
  url: string,
  paths: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const answers: Record<string, string> = {}
  for (const organization of [A, B, undefined]) {
    for (const path of paths)
      answers[`${organization} ${path}`] = await answerOf(
        { collector: { url } },
        organization,
        path,
      )
  }
  return answers
}

async function countOrphans({ directory }: Stage, { sql, folder }: Round): Promise<number> {
  const known = await sql<{ path: string }[]>`
    select path from archived_files union select path from files_to_remove`
  const paths = new Set(known.map(({ path }) => path))
  const there = await readdir(join(directory, folder), { recursive: true })
  return there.filter((path) => /\.parquet/.test(path) && !paths.has(path.replace(/t\..*$/, 't')))
    .length
}
