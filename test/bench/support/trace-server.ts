import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { DatabaseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { bearer } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import type { CollectorProcess } from '../../services/collector/support/process.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { SERVER_SETTINGS } from '../collector/server-settings.ts'
import { cpuOfFamily } from './processes.ts'

/** A PostgreSQL for reads, and the collector's program. */
interface TraceServer {
  readonly directory: string
  readonly url: string
  readonly address: DatabaseAddress
  readonly pid: number
  /** With statements of an hour at the most. */
  readonly sql: Database
  /** The bundle of the collector. */
  readonly main: string
  /** Starts a collector that keeps thirteen weeks. */
  readonly start: (env?: Record<string, string>) => Promise<CollectorProcess>
}

/** Runs a PostgreSQL that need not be durable, since what it has is made here. */
export async function withTraceServer(use: (server: TraceServer) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    settings: { ...SERVER_SETTINGS, fsync: 'off' },
    password: POSTGRES_PASSWORD,
  })
  const { url, pid } = server
  const address = parseAddress(url)
  const sql = connectDatabase(address, { name: 'bench', max: 1, statementTimeoutMs: 3_600_000 })
  const main = join(directory, 'collector/main.js')
  const start = (env: Record<string, string> = {}) =>
    spawnCollector(main, { databaseUrl: url, env: { RETENTION_WEEKS: '13', ...env } })
  try {
    await buildPrograms(directory)
    await use({ directory, url, address, pid, sql, main, start })
  } finally {
    await sql.end()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** What one question took; that of the reader of archived days is the collector's. */
export interface Read {
  readonly ms: number
  readonly nodeMs: number
  readonly postgresMs: number
}

/** Whom to ask, and whose processor time counts. */
export interface Reads {
  readonly collector: CollectorProcess
  readonly postgresPid: number
}

/** Does something, and returns what that took, with what it returned. */
export async function timeRead<Answer>(
  { collector, postgresPid }: Reads,
  act: () => Promise<Answer>,
): Promise<Read & { readonly answer: Answer }> {
  const pid = collector.child.pid ?? 0
  const [node, postgres, started] = [cpuOfFamily(pid), cpuOfFamily(postgresPid), performance.now()]
  const answer = await act()
  return {
    ms: performance.now() - started,
    nodeMs: (cpuOfFamily(pid) - node) * 1000,
    postgresMs: (cpuOfFamily(postgresPid) - postgres) * 1000,
    answer,
  }
}

/** Returns the text of an answer. Raises it when it is not a 200. */
export async function askCollector({ url }: CollectorProcess, path: string): Promise<string> {
  const headers = { authorization: await bearer() }
  const response = await fetch(url + path, { headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${text}`)
  return text
}
