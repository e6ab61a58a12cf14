import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Database } from '../../services/shared/postgres/database.ts'
import { openLedger, overHttp } from '../services/collector/support/ledger.ts'
import type { Ledger } from '../services/collector/support/ledger.ts'
import { spawnCollector } from '../services/collector/support/process.ts'
import { buildPrograms } from '../support/build.ts'
import { createCitusDatabase } from '../support/citus.ts'
import { until } from '../support/until.ts'
import { countStored } from './count-stored.ts'
import type { Stored } from './count-stored.ts'
import { startNodes, withNode } from './stage.ts'

interface MoveReport extends Stored {
  /** Acknowledged by the plain database, before it was copied. */
  readonly copied: number
  /** From the end of the collector on the plain database to the start of the one on Citus. */
  readonly pauseSeconds: number
  readonly isDistributed: boolean
}

const SPANS_BEFORE = 50_000
const SPANS_AFTER = 5000
const PG_BIN = process.env['PG_BIN'] || '/usr/lib/postgresql/15/bin'
const DISTRIBUTED = { COLLECTOR_DISTRIBUTE: 'true' }

/**
 * Moves a plain trace database to Citus as docs/grow.md says, while clients go on sending, and then
 * counts what is stored.
 */
export async function runMove(onProgress: (text: string) => void): Promise<MoveReport> {
  const directory = await mkdtemp(join(tmpdir(), 'citus-move-'))
  await buildPrograms(directory)
  const main = join(directory, 'collector/main.js')
  const coordinator = await startNodes()
  const plain = new URL(coordinator)
  plain.pathname = `/plain_${randomBytes(6).toString('hex')}`
  const citus = await createCitusDatabase(coordinator)
  const before = await spawnCollector(main, {
    databaseUrl: plain.href,
    env: { COLLECTOR_CREATE_DATABASE: 'true' },
  })
  const ledger = openLedger({ send: overHttp(before.url), clients: 8 })
  let after: typeof before | undefined
  try {
    await untilAcknowledged(ledger, SPANS_BEFORE)
    const stoppedAt = performance.now()
    await before.kill('SIGTERM')
    const copied = ledger.acknowledged.length
    onProgress(`${copied} spans on the plain database; copying them`)
    for (const url of [citus.url, ...citus.workerUrls]) await withNode(url, createReader)
    await copy(plain.href, citus.url, join(directory, 'dump'))
    onProgress('copied; the collector distributes them')
    const port = Number(new URL(before.url).port)
    after = await spawnCollector(main, { databaseUrl: citus.url, env: DISTRIBUTED, port })
    const pauseSeconds = Math.round((performance.now() - stoppedAt) / 100) / 10
    await untilAcknowledged(ledger, copied + SPANS_AFTER)
    await ledger.stop()
    const stored = await countStored(citus.url, ledger.acknowledged)
    const isSpread = await isDistributed(citus.url)
    const isRight = stored.isRight && isSpread
    return { ...stored, copied, pauseSeconds, isDistributed: isSpread, isRight }
  } finally {
    // Its clients end when nothing is refused any more, or with this process.
    await Promise.all([before.kill('SIGKILL'), after?.kill('SIGKILL')])
    await citus.drop()
    await withNode(coordinator, (sql) =>
      sql.unsafe(`drop database if exists ${plain.pathname.slice(1)} with (force)`),
    )
    await rm(directory, { recursive: true, force: true })
  }
}

const untilAcknowledged = ({ acknowledged }: Ledger, count: number): Promise<void> =>
  until(async () => acknowledged.length >= count, { timeoutMs: 300_000 })

async function copy(from: string, to: string, file: string): Promise<void> {
  const run = promisify(execFile)
  await run(join(PG_BIN, 'pg_dump'), ['--format=custom', `--file=${file}`, from])
  await run(join(PG_BIN, 'pg_restore'), ['--no-owner', '--exit-on-error', `--dbname=${to}`, file])
}

/** A dump has the rights of this role, and not the role. */
const createReader = (sql: Database) =>
  sql`
    do $$ begin
      set local citus.enable_ddl_propagation = off;
      create role collector_reader nologin;
    exception when duplicate_object then null;
    end $$`

/** Whether the spans of a database are on several nodes. */
const isDistributed = (url: string): Promise<boolean> =>
  withNode(url, async (sql) => {
    const found = await sql`
      select from pg_dist_partition where logicalrelid = 'spans'::regclass`
    return found.length > 0
  })
