import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { EmbeddedPostgres } from '../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { spawnCollector } from '../services/collector/support/process.ts'
import type { CollectorProcess } from '../services/collector/support/process.ts'
import { createDatabaseProxy } from '../services/collector/support/database-proxy.ts'
import type { DatabaseProxy } from '../services/collector/support/database-proxy.ts'
import { buildPrograms } from '../support/build.ts'
import { freePort } from '../support/free-port.ts'
import { startServer } from './postgres-server.ts'

/**
 * Replicas of the collector and a PostgreSQL of their own that can be killed, and the way between
 * them that can be cut.
 */
export interface Stage {
  readonly directory: string
  /** The bundle of the collector. */
  readonly main: string
  readonly proxy: DatabaseProxy
  readonly port: number
  server: EmbeddedPostgres
  readonly collectors: CollectorProcess[]
}

/** Opens a stage for a bundle of the collector, or for one that it builds. */
export async function openStage(bundle?: string, replicas = 1): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'faults-'))
  await chmod(directory, 0o755)
  const port = await freePort()
  if (bundle === undefined) await buildPrograms(directory)
  const main = bundle ?? join(directory, 'collector/main.js')
  const server = await startServer(directory, port)
  const proxy = await createDatabaseProxy(server.url)
  const collectors: CollectorProcess[] = []
  for (let nr = 0; nr < replicas; nr += 1) {
    collectors.push(await spawnCollector(main, { databaseUrl: proxy.url }))
  }
  return { directory, main, proxy, port, server, collectors }
}

/** Returns the exit codes of the collectors, which get the signal that Kubernetes would send. */
export async function closeStage(stage: Stage): Promise<(number | null)[]> {
  const codes = await Promise.all(stage.collectors.map((one) => one.kill('SIGTERM')))
  await stage.proxy.close()
  await stage.server.stop()
  await rm(stage.directory, { recursive: true, force: true })
  return codes
}

/** Kills one of the collectors, and starts it again at its ports. */
export async function killCollector(stage: Stage, random: () => number): Promise<void> {
  const nr = Math.floor(random() * stage.collectors.length)
  const killed = stage.collectors[nr]
  if (!killed) return
  await killed.kill('SIGKILL')
  const { url, grpcUrl } = killed
  const ports = { port: Number(new URL(url).port), grpcPort: Number(new URL(grpcUrl).port) }
  stage.collectors[nr] = await spawnCollector(stage.main, {
    databaseUrl: stage.proxy.url,
    ...ports,
  })
}

export async function killPostgres(stage: Stage): Promise<void> {
  process.kill(stage.server.pid, 'SIGKILL')
  await stage.server.exited
  stage.server = await startServer(stage.directory, stage.port)
}

export async function stopPostgres(stage: Stage, seconds: number): Promise<void> {
  await stage.server.stop()
  await delay(seconds * 1000)
  stage.server = await startServer(stage.directory, stage.port)
}

export async function asAdmin<Result>(
  stage: Stage,
  work: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(parseAddress(stage.server.url), { name: 'faults', max: 1 })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

export async function endSessions(stage: Stage): Promise<void> {
  await asAdmin(
    stage,
    (sql) => sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'collector%'`,
  )
}

export async function cutConnections({ proxy }: Stage, ms: number): Promise<void> {
  proxy.cut()
  await delay(ms)
  proxy.restore()
}

export async function freezeConnections({ proxy }: Stage, ms: number): Promise<void> {
  proxy.freeze()
  await delay(ms)
  proxy.restore()
}

export async function makeReadOnly(stage: Stage, ms: number): Promise<void> {
  await asAdmin(stage, async (sql) => {
    await sql`alter system set default_transaction_read_only = on`
    await sql`select pg_reload_conf()`
    await delay(ms)
    await sql`set default_transaction_read_only = off`
    await sql`alter system reset default_transaction_read_only`
    await sql`select pg_reload_conf()`
  })
}
