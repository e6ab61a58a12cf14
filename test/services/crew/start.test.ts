import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../../../services/crew/start.ts'
import { createLog } from '../../../services/shared/log.ts'
import { definition } from '../../support/crew.ts'

const log = createLog({ name: 'crew', level: 'silent' })
const env = { PORT: '0', HOST: '127.0.0.1', CREW_TOKEN: 't'.repeat(32) }
const json = JSON.stringify(definition)

let directory: string
let file: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'crew-'))
  file = join(directory, 'crew.json')
  await writeFile(file, json)
})

afterAll(() => rm(directory, { recursive: true }))

describe('the start of a crew', () => {
  it.each([
    ['the environment', () => ({ CREW_DEFINITION: json })],
    ['a file', () => ({ CREW_DEFINITION: '', CREW_DEFINITION_FILE: file })],
  ])('reads its definition from %s', async (_, source) => {
    const crew = await start({ ...env, ...source() }, { log })
    expect((await fetch(`${crew.url}/health`)).status).toBe(200)
    await crew.stop()
  })

  it.each([
    ['no definition', () => ({}), 'neither set'],
    ['two definitions', () => ({ CREW_DEFINITION: json, CREW_DEFINITION_FILE: file }), 'both set'],
    ['broken JSON', () => ({ CREW_DEFINITION: '{' }), 'CREW_DEFINITION cannot be used'],
    ['no crew', () => ({ CREW_DEFINITION: '{}' }), 'The crew definition is not valid'],
    ['no file', () => ({ CREW_DEFINITION_FILE: join(directory, 'no') }), 'ENOENT'],
    ['a short token', () => ({ CREW_DEFINITION: json, CREW_TOKEN: 'x' }), 'at least 32'],
  ])('is refused with %s', async (_, source, message) => {
    await expect(start({ ...env, ...source() }, { log })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining(message),
    })
  })
})
