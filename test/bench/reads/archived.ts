import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { environment } from '../../services/collector/support/harness.ts'
import { fill, makeSearchable } from '../search/fill.ts'
import { cpuOfEnded } from '../support/processes.ts'
import { median, toTable } from '../support/statistics.ts'
import { askCollector, timeRead, withTraceServer } from '../support/trace-server.ts'
import type { Read, Reads } from '../support/trace-server.ts'

/** Days that stay in the database. */
const HOT_DAYS = 14
/** Each is about another day. */
const ROUNDS = 7
const DAY_MS = 86_400_000

/** How many days ago the days of the rounds are; those in between are half in the database. */
const PLACES: Readonly<Record<string, (round: number) => number>> = {
  'in the database': (round) => 2 + round,
  archived: (round) => HOT_DAYS + 2 + round,
  'of each a half': () => HOT_DAYS + 0.5,
}

/** What is asked about 24 hours. */
const OF_A_DAY: Readonly<Record<string, string>> = {
  'a list': 'limit=50',
  'a list with excerpts': 'limit=50&excerpts=200',
  'a search, in no text': 'text=hippopotamus',
  'in one of 1000': 'text=zebra-crossing',
  'in most': 'text=database',
}

/**
 * Measures reads of model calls of four weeks of which the older half are files: traces, lists and
 * searches of days in the database, of archived days, and of 24 hours that are half in each.
 */
export const run = (calls = '1000000'): Promise<void> =>
  withTraceServer(async ({ directory, url, sql, address, pid: postgresPid, main, start }) => {
    const files = join(directory, 'archive')
    mkdirSync(files)
    const env = {
      COLLECTOR_ARCHIVE_DIRECTORY: files,
      COLLECTOR_HOT_DAYS: String(HOT_DAYS),
      COLLECTOR_COLD_DAYS: '91',
    }
    // It migrates; days that are due are archived below.
    await (await start(env)).kill('SIGTERM')
    await fill(sql, Number(calls))
    await makeSearchable(address)
    const before = await sizeOf(sql)
    const seconds = await archive(main, { ...environment(url), ...env })
    await report(sql, { before, seconds })
    const collector = await start(env)
    try {
      await measure({ collector, postgresPid }, sql)
    } finally {
      await collector.kill('SIGTERM')
    }
  })

/** The bytes of the spans that are to be archived. */
async function sizeOf(sql: Database): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(inhrelid))::float8 as bytes from pg_inherits
    where inhparent = 'spans'::regclass
      and right(inhrelid::regclass::text, 8) < to_char(current_date - ${HOT_DAYS}::int, 'YYYYMMDD')`
  return row?.bytes ?? Number.NaN
}

/** Returns the processor's seconds of the command, PostgreSQL's not among them. */
async function archive(main: string, env: Record<string, string>): Promise<number> {
  const before = cpuOfEnded(process.pid)
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  const child = spawn(process.execPath, [main, 'archive'], { env, stdio: [...stdio] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`The command to archive ended with ${code}.`)
  return cpuOfEnded(process.pid) - before
}

async function report(
  sql: Database,
  { before, seconds }: { before: number; seconds: number },
): Promise<void> {
  const [row] = await sql<{ spans: number; bytes: number }[]>`
    select sum(spans)::float8 as spans, sum(bytes)::float8 as bytes from archived_files`
  const { spans = Number.NaN, bytes = Number.NaN } = row ?? {}
  const head = ['calls archived', 'bytes in the database', 'in files', 'µs to archive']
  const per = (all: number): string => (all / spans).toFixed(0)
  const found = [String(spans), per(before), per(bytes), per(seconds * 1e6)]
  process.stdout.write(`${toTable(head, [found])}\n\n`)
}

async function measure(reads: Reads, sql: Database): Promise<void> {
  const rows: string[][] = []
  for (const [place, daysAgo] of Object.entries(PLACES)) {
    const taken = new Map<string, Read[]>()
    for (let round = 0; round < ROUNDS; round += 1) {
      const paths = await pathsOf(sql, daysAgo(round), round)
      for (const [name, path] of Object.entries(paths)) {
        const read = await timeRead(reads, () => askCollector(reads.collector, path))
        taken.set(name, [...(taken.get(name) ?? []), read])
      }
    }
    for (const [name, all] of taken) rows.push([name, place, ...describe(all)])
  }
  const head = ['', 'spans', 'ms', 'longest', 'Node ms', 'PostgreSQL ms']
  process.stdout.write(`${toTable(head, rows)}\n`)
}

function describe(all: readonly Read[]): string[] {
  const of = (key: keyof Read): number => median(all.map((one) => one[key]))
  const longest = Math.max(...all.map(({ ms }) => ms))
  return [of('ms'), longest, of('nodeMs'), of('postgresMs')].map((ms) => ms.toFixed(0))
}

/** What is asked about 24 hours, and about a trace in their middle, which nobody has asked for. */
async function pathsOf(
  sql: Database,
  daysAgo: number,
  round: number,
): Promise<Record<string, string>> {
  const until = Date.now() - (daysAgo - 0.5) * DAY_MS
  const [from, to] = [until - DAY_MS, until].map((ms) => new Date(ms).toISOString())
  const [trace] = await sql<{ id: string }[]>`
    select replace(trace_id::text, '-', '') as id from traces
    where start_time >= ${from ?? ''}::timestamptz + interval '12 hours'
    order by start_time offset ${round} limit 1`
  const ofDay = Object.entries(OF_A_DAY).map(([name, question]) => [
    name,
    `/api/traces?${question}&from=${from}&to=${to}`,
  ])
  const path = `/api/traces/${trace?.id}`
  return {
    'a trace': path,
    'its skeleton, again': `${path}?view=skeleton`,
    ...Object.fromEntries(ofDay),
  }
}
