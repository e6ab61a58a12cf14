import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readToolContent } from '../../../services/platform/tools/tools.ts'
import type { Tool } from '../../../services/platform/tools/tools.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createLog } from '../../../services/shared/log.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const folder = new URL('../../../services/platform/migrations/', import.meta.url)
const log = createLog({ name: 'test', level: 'silent' })
let database: TestDatabase
let sql: Database
let earlier: string

beforeAll(async () => {
  database = await createDatabase('empty')
  sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
  earlier = await mkdtemp(join(tmpdir(), 'migrations-'))
  for (const file of await readdir(folder)) {
    if (file < '0005') await copyFile(new URL(file, folder), join(earlier, file))
  }
})

afterAll(async () => {
  await sql.end()
  await database.drop()
  await rm(earlier, { recursive: true })
})

describe('the migration to runs with versions and tools in parts', () => {
  it('keeps what is there', async () => {
    await migrate(sql, pathToFileURL(`${earlier}/`), log)
    const content = Buffer.alloc(2 * 1024 * 1024 + 5, 'tool')
    await sql`insert into organizations (name) values ('Acme')`
    await sql`insert into projects (organization_id, name) values (1, 'P')`
    await sql`
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      values (1, 1, 1, '{}', now())`
    await sql`
      insert into deployments (organization_id, project_version_id, name, slug, app_id)
      values (1, 1, 'P', 'p', 'p')`
    await sql`insert into executions (deployment_id, inputs) values (1, '{}'), (1, '{}')`
    await sql`insert into tool_repositories (name) values ('public')`
    await sql`
      insert into tools (repository_id, name, version, filename, sha256, content)
      values (1, 'a', '1', 'a-1.zip', ${Buffer.alloc(32)}, ${content}),
        (1, 'b', '1', 'b-1.zip', ${Buffer.alloc(32)}, 'x')`

    await migrate(sql, folder, log)
    const runs = await sql`select organization_id, project_version_id from executions`
    expect([...runs]).toEqual([
      { organizationId: 1, projectVersionId: 1 },
      { organizationId: 1, projectVersionId: 1 },
    ])
    const [tool, other] = await sql<Tool[]>`select * from tools order by id`
    expect([tool?.size, other?.size]).toEqual([content.length, 1])
    const parts: Buffer[] = []
    if (tool) for await (const part of readToolContent(sql, tool)) parts.push(part)
    expect(parts).toHaveLength(3)
    expect(Buffer.concat(parts).equals(content)).toBe(true)
  })
})
