import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createDirectoryStore } from '../../../../services/shared/object-store/directory-store.ts'
import { fileOf, writeDump, writeManifest } from '../../../../services/tasks/backup/archive.ts'
import type { Archive } from '../../../../services/tasks/backup/archive.ts'
import { dumpDatabase } from '../../../../services/tasks/backup/dump-database.ts'
import { applyLedger } from '../../../../services/tasks/backup/ledger.ts'
import { createPassphrase } from '../../../../services/tasks/backup/sealed-file.ts'
import { MIGRATIONS } from '../../../../services/tasks/migrations.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'
import { useDatabase } from '../../../support/use-database.ts'
import { silent } from '../../collector/support/harness.ts'

const FORMER = '20261127T020000000Z-aaaa'
const NEWER = '20261128T020000000Z-bbbb'

const today = useDatabase()
let archive: Archive
let automation: Automation
let runId: string

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ledgers-'))
  const passphrase = createPassphrase('the passphrase of these backups')
  archive = { store: createDirectoryStore(directory), passphrase }
  const { sql } = today
  automation = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
  runId = await kickoff(sql, { deploymentId: automation.id, inputs: {} })
})

/** Has today's database a run erased that the backup still has, and a hold lifted. */
async function eraseToday(): Promise<void> {
  const { sql } = today
  const { organizationId } = automation
  await sql`
    insert into erasures (id, organization_id, name, kind, sealed, state, created_by, confirmed_at,
      confirmed_by, erased_at)
    values ('00000000-0000-4000-8000-000000000001', ${organizationId}, 'Request 7', 'text', '\\x00',
      'erased', 'Ada', now(), 'Ada', now())`
  await sql`
    insert into erasure_items (erasure_id, kind, item, ended_at)
    values ('00000000-0000-4000-8000-000000000001', 'run', ${runId}, now())`
  await sql`delete from executions where id = ${runId}`
}

/** A database as it was before, with a hold that was lifted since. */
async function restore(): Promise<{ database: TestDatabase; sql: Database }> {
  const database = await createDatabase('platform')
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 2 })
  const former = await seedAutomation(sql, { organization: 'Acme', slug: 'research' })
  await sql`
    insert into executions (id, deployment_id, inputs) values (${runId}, ${former.id}, '{}')`
  await sql`
    insert into legal_holds (organization_id, name, kind, value, created_by)
    values (${former.organizationId}, 'Case 1', 'run', ${runId}, 'Ada')`
  return { database, sql }
}

describe('the ledger of erasures', () => {
  const open: { database: TestDatabase; sql: Database }[] = []
  beforeAll(async () => {
    await eraseToday()
    const path = fileOf(NEWER, 'main')
    await writeDump(
      archive,
      path,
      dumpDatabase(parseAddress(today.url), () => {}),
    )
    await writeManifest(archive, NEWER, {
      format: 1,
      createdAt: new Date().toISOString(),
      verified: 'read',
      databases: [],
      keys: [],
      references: { images: [], repositories: [] },
    })
  })
  afterAll(async () => {
    for (const { sql, database } of open) {
      await sql.end()
      await database.drop()
    }
  })

  it.each(['of the database that is replaced', 'of the newest backup'])(
    'erases in a restored database what was erased since, by the one %s',
    async (which) => {
      const restored = await restore()
      open.push(restored)
      const printed: string[] = []
      await applyLedger(
        { name: 'main', address: parseAddress(restored.database.url), migrations: MIGRATIONS.main },
        {
          archive,
          backup: FORMER,
          former: which.includes('replaced') ? parseAddress(today.url) : undefined,
          log: silent,
          print: (line) => void printed.push(line),
        },
      )
      expect(await restored.sql`select from executions`).toHaveLength(0)
      // Workers look for what the erasure had not seen.
      expect(await restored.sql`select name, state from erasures`).toEqual([
        { name: 'Request 7', state: 'finding' },
      ])
      expect(await restored.sql`select from legal_holds`).toHaveLength(0)
      expect(printed.join('\n')).toContain('1 things were erased anew')
    },
  )

  it('says so when no ledger is newer than the backup, and restores all the same', async () => {
    const restored = await restore()
    open.push(restored)
    const plan = { archive, backup: NEWER, former: undefined, log: silent, print: () => {} }
    const address = parseAddress(restored.database.url)
    await applyLedger({ name: 'main', address, migrations: MIGRATIONS.main }, plan)
    expect(await restored.sql`select from executions`).toHaveLength(1)
  })
})
