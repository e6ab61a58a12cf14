import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import { connectDatabase, parseAddress } from '../../services/shared/database.ts'
import type { Database } from '../../services/shared/database.ts'
import { createRandom } from '../bench/support/requests.ts'
import { bundleCollector, spawnCollector } from '../services/collector/support/bundle.ts'
import type { Bundle, CollectorProcess } from '../services/collector/support/bundle.ts'
import { createDatabaseProxy } from '../services/collector/support/database-proxy.ts'
import type { DatabaseProxy } from '../services/collector/support/database-proxy.ts'
import { audit, openLedger } from '../services/collector/support/ledger.ts'
import type { Ledger } from '../services/collector/support/ledger.ts'
import { freePort } from '../support/free-port.ts'

/**
 * `npm run test:faults [kills] [seed]`: the collector and PostgreSQL are killed, cut off, stopped and made read-only
 * under load, and then every span that was acknowledged must be there exactly once. Exits 1 when one is not.
 */
const kills = Number(process.argv[2] ?? 200)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1e9))
const random = createRandom(seed)

interface Stage {
  readonly directory: string
  readonly bundle: Bundle
  readonly proxy: DatabaseProxy
  readonly port: number
  server: EmbeddedPostgres
  collector: CollectorProcess
}

type Fault = (stage: Stage) => Promise<void>

const START_TRIES = 20

/** The dead server's sessions may hold its memory for a moment. */
async function startServer(directory: string, port: number): Promise<EmbeddedPostgres> {
  for (let tries = 1; ; tries++) {
    try {
      // Every commit reaches the disk, as in an installation.
      return await startEmbeddedPostgres({ directory: join(directory, 'data'), port })
    } catch (error) {
      if (tries === START_TRIES) throw error
      await delay(250)
    }
  }
}

async function killCollector(stage: Stage): Promise<void> {
  await stage.collector.kill('SIGKILL')
  const port = Number(new URL(stage.collector.url).port)
  stage.collector = await spawnCollector(stage.bundle.main, { databaseUrl: stage.proxy.url, port })
}

async function killPostgres(stage: Stage): Promise<void> {
  process.kill(stage.server.pid, 'SIGKILL')
  await stage.server.exited
  stage.server = await startServer(stage.directory, stage.port)
}

async function stopPostgres(stage: Stage, seconds: number): Promise<void> {
  await stage.server.stop()
  await delay(seconds * 1000)
  stage.server = await startServer(stage.directory, stage.port)
}

const asAdmin = async (stage: Stage, work: (sql: Database) => Promise<unknown>): Promise<void> => {
  const sql = connectDatabase(parseAddress(stage.server.url), { name: 'faults', max: 1 })
  await work(sql)
  await sql.end()
}

const endSessions: Fault = (stage) =>
  asAdmin(
    stage,
    (sql) => sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'collector%'`,
  )

async function cutConnections({ proxy }: Stage): Promise<void> {
  proxy.cut()
  await delay(random() * 500)
  proxy.restore()
}

async function freezeConnections({ proxy }: Stage): Promise<void> {
  proxy.freeze()
  await delay(random() * 1500)
  proxy.restore()
}

const readOnly: Fault = (stage) =>
  asAdmin(stage, async (sql) => {
    await sql`alter system set default_transaction_read_only = on`
    await sql`select pg_reload_conf()`
    await delay(500)
    await sql`set default_transaction_read_only = off`
    await sql`alter system reset default_transaction_read_only`
    await sql`select pg_reload_conf()`
  })

/** Kills count; the others happen beside them. */
const KILLS: Readonly<Record<string, Fault>> = {
  'collector SIGKILL': killCollector,
  'postgres SIGKILL': killPostgres,
  'sessions ended': endSessions,
}
const OTHERS: Readonly<Record<string, Fault>> = {
  'connections reset': cutConnections,
  'network gone': freezeConnections,
  'read only': readOnly,
}

function pick(faults: Readonly<Record<string, Fault>>): readonly [string, Fault] {
  const list = Object.entries(faults)
  const found = list[Math.floor(random() * list.length)]
  if (!found) throw new Error('there are no faults to choose from')
  return found
}

const PROGRESS_MS = 60_000

/** Waits for the clients to have more acknowledged; that they do is half of what is tested. */
async function untilMore(ledger: Ledger, spans: number): Promise<void> {
  const reached = ledger.acknowledged.length + spans
  const started = performance.now()
  while (ledger.acknowledged.length < reached) {
    if (performance.now() - started > PROGRESS_MS) {
      throw new Error('nothing was acknowledged for a minute')
    }
    await delay(10)
  }
}

async function open(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'faults-'))
  await chmod(directory, 0o755)
  const port = await freePort()
  const bundle = await bundleCollector()
  const server = await startServer(directory, port)
  const proxy = await createDatabaseProxy(server.url)
  const collector = await spawnCollector(bundle.main, { databaseUrl: proxy.url })
  return { directory, bundle, proxy, port, server, collector }
}

async function close(stage: Stage): Promise<void> {
  await stage.collector.kill('SIGTERM')
  await stage.proxy.close()
  await stage.server.stop()
  stage.bundle.remove()
  await rm(stage.directory, { recursive: true, force: true })
}

async function runFaults(stage: Stage, ledger: Ledger): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const apply = async (name: string, fault: Fault): Promise<void> => {
    await untilMore(ledger, Math.floor(random() * 600))
    await fault(stage)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  for (let done = 0; done < kills; done++) {
    await apply(...pick(KILLS))
    if (random() < 0.2) await apply(...pick(OTHERS))
    if (done % 20 === 19) print(`${done + 1}/${kills} kills, ${ledger.acknowledged.length} spans`)
  }
  await apply('postgres stopped for 5 s', () => stopPostgres(stage, 5))
  await apply('postgres stopped for 30 s', () => stopPostgres(stage, 30))
  await untilMore(ledger, 1000)
  return counts
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

print(`${kills} kills, seed ${seed}`)
const stage = await open()
const ledger = openLedger({ url: stage.collector.url })
const counts = await runFaults(stage, ledger)
await ledger.stop()
await asAdmin(stage, async (sql) => {
  const sent = ledger.acknowledged.length
  const found = await audit(sql, ledger.acknowledged)
  for (const [name, times] of counts) print(`${String(times).padStart(4)} ${name}`)
  print(`${sent} spans acknowledged; stored ${found.spans}, in ${found.rows} rows`)
  print(`${found.missing} lost, ${found.rows - found.spans} doubled (seed ${seed})`)
  const isRight = found.missing === 0 && found.rows === sent && found.spans === sent
  process.exitCode = isRight ? 0 : 1
})
await close(stage)
