import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createLog } from '../../../services/shared/log.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { freePort } from '../../support/free-port.ts'
import { seedAutomation } from '../../support/platform.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'
import { runWebhookFaults } from './run-webhook-faults.ts'
import type { WebhookFaultReport } from './run-webhook-faults.ts'

interface Options {
  readonly kills: number
  readonly seed: number
  readonly onKill: (killed: number) => void
}

/** `npm run test:long -- faults webhooks`, on a PostgreSQL of its own. */
export async function testWebhooks({ kills, seed, onKill }: Options): Promise<WebhookFaultReport> {
  const directory = await mkdtemp(join(tmpdir(), 'webhook-faults-'))
  await chmod(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    password: POSTGRES_PASSWORD,
  })
  const sql = connectDatabase(parseAddress(server.url), { name: 'faults' })
  try {
    const migrations = new URL('../../../services/platform/migrations/', import.meta.url)
    await migrate(sql, migrations, createLog({ name: 'faults', level: 'warn' }))
    const automation = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
    return await runWebhookFaults({
      sql,
      databaseUrl: server.url,
      automation,
      directory,
      kills,
      seed,
      onKill,
    })
  } finally {
    await sql.end()
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
