import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { audit, openLedger, overHttp } from '../services/collector/support/ledger.ts'
import type { Audit, Ledger } from '../services/collector/support/ledger.ts'
import { spawnCollector } from '../services/collector/support/process.ts'
import { buildPrograms } from '../support/build.ts'
import { createCitusDatabase } from '../support/citus.ts'
import { until } from '../support/until.ts'
import { startNodes, withNode } from './stage.ts'

export interface MoveReport extends Audit {
  readonly acknowledged: number
  /** Acknowledged by the plain database, before it was copied. */
  readonly copied: number
  /** Traces in the roll-ups. */
  readonly rolledUp: number
  /** From the end of the collector on the plain database to the start of the one on Citus. */
  readonly pauseSeconds: number
  readonly isDistributed: boolean
  readonly isRight: boolean
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
    await copy(plain.href, citus.url, join(directory, 'dump'))
    onProgress('copied; the collector distributes them')
    const port = Number(new URL(before.url).port)
    after = await spawnCollector(main, { databaseUrl: citus.url, env: DISTRIBUTED, port })
    const pauseSeconds = Math.round((performance.now() - stoppedAt) / 100) / 10
    await untilAcknowledged(ledger, copied + SPANS_AFTER)
    await ledger.stop()
    return { ...(await count(citus.url, ledger.acknowledged)), copied, pauseSeconds }
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

async function count(
  url: string,
  acknowledged: readonly string[],
): Promise<Omit<MoveReport, 'copied' | 'pauseSeconds'>> {
  return withNode(url, async (sql) => {
    await until(async () => (await sql`select from touched_traces`).length === 0, {
      timeoutMs: 120_000,
    })
    const found = await audit(sql, acknowledged)
    const [row] = await sql<[{ rolledUp: number; isDistributed: boolean }]>`
      select (select count(*)::int from traces) as "rolledUp",
        exists (select from pg_dist_partition where logicalrelid = 'spans'::regclass)
          as "isDistributed"`
    const { rows, spans, missing } = found
    const all = acknowledged.length
    const isRight =
      row.isDistributed && missing === 0 && [rows, spans, row.rolledUp].every((n) => n === all)
    return { ...found, ...row, acknowledged: all, isRight }
  })
}
