import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { chromiumPath, launchBrowser } from '../../../scripts/pictures/browser.ts'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { createSession } from '../../../services/platform/people/sessions.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { ensureUser } from '../../../services/platform/people/users.ts'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { SECRET } from '../../services/collector/support/harness.ts'
import { spawnCollector } from '../../services/collector/support/process.ts'
import { addressUrl } from '../../support/address-url.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { SERVER_SETTINGS } from '../collector/server-settings.ts'
import { fill } from '../reads/fill.ts'
import { fillRollUps } from './fill-roll-ups.ts'

const SIZE = { days: 91, callsADay: 24_000, traces: 1_000_000, crews: 20 }

/** A web service over a collector with many traces and a large one, a browser, and a session. */
export interface Stage {
  readonly browser: Browser
  readonly webUrl: string
  /** Of somebody who may read all of the traces. */
  readonly session: string
  readonly pids: { readonly web: number; readonly collector: number; readonly postgres: number }
  close(): Promise<void>
}

/**
 * Fills a database, which takes some minutes, and starts everything over it. A directory that is
 * named keeps the data, for the next time.
 */
export async function openStage(kept?: string): Promise<Stage> {
  const chromium = chromiumPath()
  if (chromium === undefined) throw new Error('There is no Chromium; set CHROMIUM_PATH.')
  const directory = mkdtempSync(join(tmpdir(), 'bench-'))
  chmodSync(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: resolve(kept ?? directory, 'data'),
    port: await freePort(),
    settings: { ...SERVER_SETTINGS, fsync: 'off' },
    password: POSTGRES_PASSWORD,
  })
  const sql = connectDatabase(parseAddress(server.url), {
    name: 'bench',
    max: 1,
    statementTimeoutMs: 600_000,
  })
  await buildPrograms(directory)
  const collector = await spawnCollector(join(directory, 'collector/main.js'), {
    databaseUrl: server.url,
    env: { RETENTION_WEEKS: '13', COLLECTOR_SEARCH: 'off' },
  })
  const platform = await openPlatform(sql, server.url)
  if (!platform.isFilled) await fillAll(sql, platform.organization)
  const web = await startWeb(directory, { databaseUrl: platform.url, collectorUrl: collector.url })
  const browser = await launchBrowser(chromium)
  return {
    browser,
    webUrl: web.url,
    session: platform.session,
    pids: {
      web: web.child.pid ?? 0,
      collector: collector.child.pid ?? 0,
      postgres: server.pid,
    },
    async close() {
      await browser.close()
      web.child.kill('SIGTERM')
      await once(web.child, 'exit')
      await collector.kill('SIGTERM')
      await sql.end()
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function fillAll(sql: Database, organization: string): Promise<void> {
  await fillRollUps(sql, { ...SIZE, organization })
  await fill(sql, organization)
  await sql`comment on database platform is 'filled'`
}

/** A database of the platform with one organization and one user, who is signed in. */
async function openPlatform(admin: Database, serverUrl: string) {
  const [known] = await admin<{ comment: string | null }[]>`
    select shobj_description(oid, 'pg_database') as comment
    from pg_database where datname = 'platform'`
  if (!known) await admin`create database platform`
  const address = { ...parseAddress(serverUrl), database: 'platform' }
  const sql = connectDatabase(address, { name: 'bench', max: 1 })
  const folder = new URL('../../../services/platform/migrations/', import.meta.url)
  await migrate(sql, folder, createLog({ name: 'bench', level: 'silent' }))
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme' })
  const person = {
    organizationId,
    role: 'admin',
    email: 'ada@acme.test',
    name: 'Ada Park',
    passwordHash: null,
  } as const
  const userId = await ensureUser(sql, person)
  const session = await createSession(sql, userId)
  await sql.end()
  const organization = String(organizationId)
  return { url: addressUrl(address), organization, session, isFilled: known?.comment === 'filled' }
}

async function startWeb(
  directory: string,
  { databaseUrl, collectorUrl }: { databaseUrl: string; collectorUrl: string },
): Promise<{ child: ChildProcess; url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [join(directory, 'web/main.js')], {
    env: {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      HOST: '127.0.0.1',
      PLATFORM_VERSION: '1.0.0',
      PLATFORM_BASE_URL: url,
      SECRET_KEY_BASE: 'secret-key-base-'.repeat(4),
      COLLECTOR_URL: collectorUrl,
      COLLECTOR_JWT_SECRET: SECRET,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (let tries = 0; tries < 1200; tries++) {
    if ((await fetch(`${url}/health`).catch(() => undefined))?.ok) return { child, url }
    if (child.exitCode !== null) throw new Error(`web ended with ${child.exitCode}`)
    await delay(25)
  }
  throw new Error('web did not become ready')
}
