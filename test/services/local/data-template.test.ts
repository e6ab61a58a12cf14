import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { truncate, utimes, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDataTemplate, userCache } from '../../../services/local/data-template.ts'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { isReachable, serverOwner } from '../../../services/local/postgres-binaries.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { freePort } from '../../support/free-port.ts'
import { isLong } from '../../support/long.ts'
import { SERVER_SETTINGS } from '../../support/server-settings.ts'

const root = new URL('../../..', import.meta.url).pathname
const isRoot = process.getuid?.() === 0
const canBeOrdinary = isRoot && (await isReachable(root))
const NAME = 'linux-x64-18.4'

let parent: string
let cache: string

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'template-'))
  await chmod(parent, 0o755)
  cache = join(parent, 'cache')
})

afterEach(() => rm(parent, { recursive: true, force: true }))

/** A directory as initdb leaves it, as far as copying goes. */
async function makeData(name: string, content = '18'): Promise<string> {
  const directory = join(parent, name)
  await mkdir(join(directory, 'pg_wal', 'archive_status'), { recursive: true })
  await writeFile(join(directory, 'PG_VERSION'), `${content}\n`)
  await chmod(directory, 0o700)
  return directory
}

async function makeEmpty(name = 'new'): Promise<string> {
  const directory = join(parent, name)
  await mkdir(directory, { mode: 0o700 })
  return directory
}

const template = () => createDataTemplate(cache, NAME)
const kept = (...path: readonly string[]): string => join(cache, 'postgres', NAME, ...path)
const filesIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true })).toSorted()

describe('the folder in the user’s cache', () => {
  it('is where XDG_CACHE_HOME says, when that is absolute', () => {
    expect(userCache({ XDG_CACHE_HOME: '/var/cache/ada' })).toBe('/var/cache/ada/crew-platform')
    const usual = join(homedir(), '.cache/crew-platform')
    expect(userCache({ XDG_CACHE_HOME: 'cache' })).toBe(usual)
    expect(userCache({ XDG_CACHE_HOME: '' })).toBe(usual)
    expect(userCache({})).toBe(usual)
  })
})

describe('the template of new data directories', () => {
  it('is what was kept, and is given to the user of the server', async () => {
    await template().keep(await makeData('made'))
    const directory = await makeEmpty()
    expect(await template().take(directory)).toBe(true)
    expect(await filesIn(directory)).toEqual(['PG_VERSION', 'pg_wal', 'pg_wal/archive_status'])
    const { mode, uid } = await stat(directory)
    expect([mode & 0o777, uid]).toEqual([0o700, serverOwner.uid ?? process.getuid?.()])
    expect((await stat(join(cache, 'postgres'))).mode & 0o077).toBe(0)
    expect((await readdir(parent)).toSorted()).toEqual(['cache', 'made', 'new'])
  })

  it('is one for each version', async () => {
    await template().keep(await makeData('made'))
    expect(await createDataTemplate(cache, 'linux-x64-19.0').take(await makeEmpty())).toBe(false)
  })

  it.each([
    ['lost a file', () => rm(kept('data', 'PG_VERSION'))],
    ['lost an empty folder', () => rm(kept('data', 'pg_wal/archive_status'), { recursive: true })],
    ['has a file of zeros', () => writeFile(kept('data', 'PG_VERSION'), '\0\0\0')],
    ['has a file that was cut', () => truncate(kept('data', 'PG_VERSION'), 1)],
    ['has a file more', () => writeFile(kept('data', 'postgresql.auto.conf'), 'fsync = off')],
    ['lost its digest', () => rm(kept('digest'))],
    ['lost its data', () => rm(kept('data'), { recursive: true })],
  ])('is removed when it %s, and the next start makes it anew', async (_, damage) => {
    await template().keep(await makeData('made'))
    await damage()
    const directory = await makeEmpty()
    expect(await template().take(directory)).toBe(false)
    expect([await readdir(directory), await readdir(join(cache, 'postgres'))]).toEqual([[], []])
    await template().keep(await makeData('again'))
    expect(await template().take(directory)).toBe(true)
  })

  it.runIf(isRoot)('is not taken from another user', async () => {
    await template().keep(await makeData('made'))
    await chown(kept(), 12_345, 12_345)
    expect(await template().take(await makeEmpty())).toBe(false)
  })

  it('is left as it is by a start that comes second', async () => {
    await Promise.all([
      template().keep(await makeData('one', 'one')),
      template().keep(await makeData('other', 'other')),
    ])
    const directory = await makeEmpty()
    expect(await template().take(directory)).toBe(true)
    expect(await readFile(join(directory, 'PG_VERSION'), 'utf8')).toMatch(/^(one|other)\n$/)
    expect(await readdir(join(cache, 'postgres'))).toEqual([NAME])
  })

  it('serves starts at once, of which one finds it damaged', async () => {
    await template().keep(await makeData('made'))
    const directories = await Promise.all(['a', 'b', 'c'].map(makeEmpty))
    await Promise.all([
      ...directories.map((directory) => template().take(directory)),
      rm(kept('data', 'PG_VERSION'), { force: true }),
    ])
    for (const directory of directories) {
      expect([[], ['PG_VERSION', 'pg_wal']]).toContainEqual(await readdir(directory))
    }
  })

  it('forgets what a start left half made a while ago, and no other', async () => {
    const [old, fresh] = [kept('..', `${NAME}.unfinished-1`), kept('..', `${NAME}.unfinished-2`)]
    await mkdir(old, { recursive: true })
    await mkdir(fresh)
    await utimes(old, new Date(0), new Date(0))
    await template().keep(await makeData('made'))
    expect(await filesIn(join(cache, 'postgres'))).not.toContain(`${NAME}.unfinished-1`)
    expect(await filesIn(join(cache, 'postgres'))).toContain(`${NAME}.unfinished-2`)
  })

  it('is done without where the cache is no folder', async () => {
    await writeFile(cache, '')
    await template().keep(await makeData('made'))
    expect(await template().take(await makeEmpty())).toBe(false)
  })
})

describe('a server on a new directory', () => {
  const query = `select system_identifier::text as id from pg_control_system()`

  /** Starts on an empty directory; returns the identity of its data, which initdb makes. */
  async function identityOf(name: string, password: string): Promise<string> {
    const [directory, port] = [join(parent, name), await freePort()]
    const options = { directory, port, password, cache, settings: SERVER_SETTINGS }
    const server = await startEmbeddedPostgres(options)
    const sql = connectDatabase(parseAddress(server.url), { name: 'test', max: 1 })
    const [row] = await sql.unsafe<{ id: string }[]>(query)
    await sql.end()
    await server.stop()
    return row?.id ?? ''
  }

  it('has its own password, and only that, on data from the template', async () => {
    const [first, second] = ['first-password-of-all', 'second-password-of-all']
    const made = await identityOf('one', first)
    expect(await identityOf('two', second)).toBe(made)
    await expect(identityOf('two', second)).resolves.toBe(made)
    const rules = await readFile(join(parent, 'two', 'pg_hba.conf'), 'utf8')
    expect(rules).not.toContain('trust')
    expect(rules).not.toBe(await readFile(join(parent, 'one', 'pg_hba.conf'), 'utf8'))
  })

  it.runIf(isLong)('is made from nothing where the template is damaged', async () => {
    const made = await identityOf('one', 'first-password-of-all')
    const [name = ''] = await readdir(join(cache, 'postgres'))
    await rm(join(cache, 'postgres', name, 'data/global/pg_control'))
    expect(await identityOf('two', 'first-password-of-all')).not.toBe(made)
  })

  it.runIf(isLong && canBeOrdinary)('is an ordinary user’s, too', async () => {
    const { uid = 0, gid = 0 } = serverOwner
    await chown(parent, uid, gid)
    const program =
      "import { startEmbeddedPostgres } from './services/local/embedded-postgres.ts'\n" +
      "for (const [index, name] of ['one', 'two'].entries()) {\n" +
      `  const options = { password: 'a-password-of-all', cache: '${cache}', settings: {} }\n` +
      '  const port = Number(process.argv[1]) + index\n' +
      `  const place = { directory: '${parent}/' + name, port }\n` +
      '  await (await startEmbeddedPostgres({ ...options, ...place })).stop()\n' +
      '}\n'
    const args = ['--import', 'tsx', '--input-type=module', '-e', program, `${await freePort()}`]
    const env = { PATH: process.env['PATH'] ?? '', TSX_DISABLE_CACHE: '1' }
    await promisify(execFile)(process.execPath, args, { cwd: root, uid, gid, env })
    const [one, two] = await Promise.all(['one', 'two'].map(identifierIn))
    expect(one).toBe(two)
    expect((await stat(join(cache, 'postgres'))).uid).toBe(uid)
  })

  /** The identifier of the system is the first that the control file has. */
  const identifierIn = async (name: string): Promise<string> =>
    (await readFile(join(parent, name, 'global/pg_control'))).subarray(0, 8).toString('hex')
})
