import type { Database } from '../../services/shared/postgres/database.ts'
import { readMigrations } from '../../services/shared/postgres/migration-files.ts'

/** Records the files that the baseline stands for in its place, as programs before it did. */
export async function recordFormerFiles(sql: Database, folder: URL): Promise<void> {
  const [baseline] = await readMigrations(folder)
  if (!baseline?.replaces) throw new Error(`${folder.href} begins with no baseline`)
  const files = baseline.replaces.files.map((file) => ({ ...file, safeFrom: 1 }))
  await sql.begin(async (tx) => {
    await tx`delete from schema_migrations where version = ${baseline.version}`
    await tx`insert into schema_migrations ${tx(files)}`
  })
}
