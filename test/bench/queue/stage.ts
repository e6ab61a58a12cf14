import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { seedAutomation } from '../../support/platform.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'

const SECRET_KEY_BASE = 'secret-key-base-'.repeat(4)
const AUTOMATIONS = 20
const EXAMPLE = fileURLToPath(new URL('../../../docs/examples/crew.ts', import.meta.url))

export type QueueStage = Awaited<ReturnType<typeof openQueueStage>>

/**
 * A PostgreSQL with its durable defaults, automations that all run on the smallest crew of the
 * manual, and the program of the worker. The crew has two steps without any work in them, so that
 * nothing is measured but what the platform adds.
 */
export async function openQueueStage() {
  const directory = await mkdtemp(join(tmpdir(), 'queue-'))
  await chmod(directory, 0o755)
  const programs = join(directory, 'build')
  await buildPrograms(programs)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    password: POSTGRES_PASSWORD,
    settings: { max_connections: '1000', shared_buffers: '1GB' },
  })
  const sql = connectDatabase(parseAddress(server.url), { name: 'bench', max: 20 })
  const migrations = new URL('../../../services/platform/migrations/', import.meta.url)
  await migrate(sql, migrations, createLog({ name: 'bench', level: 'silent' }))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { runner, automations } = await seedAutomations(sql, url)
  const token = crewToken(SECRET_KEY_BASE, runner.automationId)
  const crew = spawnProgram(['--import', 'tsx', EXAMPLE, String(port)], { CREW_TOKEN: token })
  await answers(`${url}/health`, crew)
  return {
    server,
    sql,
    crew,
    automations,
    startWorker: () => startWorker(join(programs, 'worker/main.js'), server.url),
    async close() {
      await end(crew)
      await sql.end({ timeout: 5 })
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A crew as the Runner is one, and the automations that it runs. */
async function seedAutomations(sql: Database, url: string) {
  const runner = await seedAutomation(sql, {
    organization: 'Platform',
    internal: true,
    slug: 'runner',
    url,
  })
  const automations = []
  for (let n = 0; n < AUTOMATIONS; n += 1) {
    automations.push(await seedAutomation(sql, { organization: 'Acme', slug: `queue-${n}` }))
  }
  await sql`update deployments set runs_on = ${runner.id} where id <> ${runner.id}`
  return { runner, automations }
}

/** A worker with the chart's defaults, once it answers. */
async function startWorker(main: string, databaseUrl: string): Promise<ChildProcess> {
  const PORT = String(await freePort())
  const worker = spawnProgram([main], {
    DATABASE_URL: databaseUrl,
    PORT,
    HOST: '127.0.0.1',
    PLATFORM_VERSION: '1.0.0',
    SECRET_KEY_BASE,
  })
  await answers(`http://127.0.0.1:${PORT}/health`, worker)
  return worker
}

const spawnProgram = (args: readonly string[], env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'fatal', ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if ((await fetch(url).catch(() => undefined))?.ok) return
    if (child.exitCode !== null) throw new Error(`a program ended with ${child.exitCode}`)
    await delay(50)
  }
}

/** Ends a program as Kubernetes would. */
export async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
