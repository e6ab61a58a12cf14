import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { migrate } from '../../../../../services/shared/postgres/migrate.ts'
import { listMigrations } from '../../../../../services/shared/postgres/migration-files.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { addressUrl } from '../../../../support/address-url.ts'
import { createDatabase } from '../../../../support/postgres.ts'
import type { Dependencies } from '../support/dependencies.ts'
import { closed, QUICK } from '../support/faults.ts'
import { runNamedTask } from './scene.ts'
import type { Case } from './scene.ts'

const log = createLog({ name: 'test', level: 'silent' })
const MIGRATIONS = new URL('../../../../../services/platform/migrations/', import.meta.url)
const READER = { user: 'remedies_reader', password: 'a-password' }

/** An installation whose schema lacks the last migration, which is not the baseline. */
async function createFormerDatabase(last: string) {
  const database = await createDatabase('empty')
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  await cp(fileURLToPath(MIGRATIONS), folder, { recursive: true })
  await rm(join(folder, last))
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
  await migrate(sql, pathToFileURL(`${folder}/`), log)
  await sql.end()
  await rm(folder, { recursive: true })
  return database
}

/** A role that may log in, and read no table yet. */
async function createReader({ sql, database }: Dependencies) {
  await sql.unsafe(`create role ${READER.user} login password '${READER.password}'`)
  return {
    url: addressUrl({ ...parseAddress(database.url), ...READER }),
    drop: () => sql.unsafe(`drop owned by ${READER.user}; drop role ${READER.user}`),
  }
}

/** Locks a table in a statement that does not end by itself. */
async function lockProjects(url: string) {
  const sql = connectDatabase(parseAddress(url), { name: 'holder', max: 1 })
  let ended: Promise<unknown> = Promise.resolve()
  await new Promise<void>((resolve) => {
    const held = sql.begin(async (transaction) => {
      await transaction`lock table projects in access exclusive mode`
      resolve()
      await transaction`select pg_sleep(600)`
    })
    ended = held.catch(() => {})
  })
  return { ended, close: () => sql.end({ timeout: 1 }) }
}

/** The main database and its schema. */
export const DATABASE_CASES = {
  db_unreachable: {
    component: 'database',
    async stage({ database, options }) {
      const { port } = await closed()
      const databaseUrl = addressUrl({ ...parseAddress(database.url), port })
      return { broken: options({ databaseUrl }), follow: () => options() }
    },
  },
  db_auth_failed: {
    component: 'database',
    async stage(world) {
      const databaseUrl = addressUrl({ ...parseAddress(world.database.url), ...READER })
      return {
        broken: world.options({ databaseUrl }),
        follow: async () => void (await createReader(world)),
        end: () => world.sql.unsafe(`drop role ${READER.user}`),
      }
    },
  },
  db_timeout: {
    component: 'designer',
    async stage({ sql, options, database }) {
      const holder = await lockProjects(database.url)
      return {
        broken: options({ diagnostics: { limits: QUICK } }),
        async follow() {
          await sql`
            select pg_terminate_backend(pid) from pg_locks
            join pg_database on pg_database.oid = database and datname = current_database()
            where relation = 'projects'::regclass and mode = 'AccessExclusiveLock' and granted`
          await holder.ended
          return options()
        },
        end: () => holder.close(),
      }
    },
  },
  tables_unreadable: {
    component: 'designer',
    async stage(world) {
      const reader = await createReader(world)
      const broken = world.options({ databaseUrl: reader.url })
      return {
        broken,
        async follow() {
          await world.sql.unsafe(`grant select on all tables in schema public to ${READER.user}`)
        },
        end: reader.drop,
      }
    },
  },
  schema_empty: {
    component: 'database',
    async stage({ options }) {
      const database = await createDatabase('empty')
      return {
        broken: options({ databaseUrl: database.url }),
        follow: (result) => runNamedTask(result, database.url),
        end: () => database.drop(),
      }
    },
  },
  schema_behind: {
    component: 'database',
    async stage({ sql, options }) {
      const schemaVersion = await migrate(sql, MIGRATIONS, log)
      const last = (await listMigrations(MIGRATIONS)).at(-1) ?? ''
      // Nothing comes before the baseline: until there is another migration, web asks for one more.
      if (!last.endsWith('.sql')) {
        return {
          broken: options({ diagnostics: { schemaVersion: schemaVersion + 1 } }),
          follow: () => options({ diagnostics: { schemaVersion } }),
        }
      }
      const database = await createFormerDatabase(last)
      return {
        broken: options({ databaseUrl: database.url, diagnostics: { schemaVersion } }),
        follow: (result) => runNamedTask(result, database.url),
        end: () => database.drop(),
      }
    },
  },
  schema_ahead: {
    component: 'database',
    async stage({ sql, options }) {
      const schemaVersion = await migrate(sql, MIGRATIONS, log)
      return {
        broken: options({ diagnostics: { schemaVersion: schemaVersion - 1 } }),
        follow: () => options({ diagnostics: { schemaVersion } }),
      }
    },
  },
  receipt_heads_forked: {
    component: 'database',
    async stage({ sql, options }) {
      await sql`
        insert into receipt_heads (size, content, signature, signed_at, fork_found_at)
        values (1, '{}', '', now(), now())`
      return {
        broken: options(),
        // It was the restore that is noted: the warning ends after a month.
        follow: async () => void (await sql`update receipt_heads set fork_found_at = '2026-01-01'`),
        end: () => sql`delete from receipt_heads`,
      }
    },
  },
  db_storage_ends_soon: {
    component: 'database',
    stage: ({ options }) => ({
      broken: options({ env: { DB_VOLUME_SIZE: '1Gi' } }),
      follow: () => options({ env: { DB_VOLUME_SIZE: '1Ti' } }),
    }),
  },
  internal_org_missing: {
    component: 'designer',
    async stage({ options }) {
      const database = await createDatabase('platform')
      const env = { K8S_NAMESPACE: '' }
      return {
        broken: options({ databaseUrl: database.url, env }),
        follow: (result) => runNamedTask(result, database.url),
        end: () => database.drop(),
      }
    },
  },
} satisfies Record<string, Case>
