import { appendFile, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishCrewRuntime } from '../../../../services/platform/crews/crew-runtime-package.ts'
import { ensurePublicToolRepository, listTools } from '../../../../services/platform/tools/tools.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()
let home: string
let folder: URL
let repositoryId: number

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'crew-runtime-'))
  await cp('python/crew-runtime', home, { recursive: true })
  folder = pathToFileURL(`${home}/`)
  repositoryId = await ensurePublicToolRepository(database.sql, 'public')
})

afterAll(() => rm(home, { recursive: true }))

const publish = () => publishCrewRuntime(database.sql, repositoryId, { version: '2.0.0', folder })

const filenames = async (): Promise<string[]> => {
  const tools = await listTools(database.sql, repositoryId, 'crew-runtime')
  return tools.map(({ filename }) => filename)
}

describe('the Python package crew-runtime', () => {
  it('is published once, however often that is asked for', async () => {
    expect(await publish()).toBe('2.0.0')
    expect(await publish()).toBe('2.0.0')
    const made = ['crew_runtime-2.0.0-py3-none-any.whl', 'crew_runtime-2.0.0.tar.gz']
    expect(await filenames()).toEqual(made)
  })

  it('gets a version after the one that is there when it changed without a release', async () => {
    await appendFile(join(home, 'src/crew_runtime/__init__.py'), '# changed\n')
    expect([await publish(), await publish()]).toEqual(['2.0.0.post1', '2.0.0.post1'])
    await appendFile(join(home, 'src/crew_runtime/__init__.py'), '# again\n')
    expect(await publish()).toBe('2.0.0.post2')
    expect(await filenames()).toHaveLength(6)
  })
})
