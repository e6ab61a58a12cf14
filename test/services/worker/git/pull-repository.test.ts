import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listCrewDeployments } from '../../../../services/platform/crews/crew-deployments.ts'
import {
  askPull,
  getRepository,
  saveRepository,
  takeRepository,
} from '../../../../services/platform/crews/source-repositories.ts'
import type { RepositoryPlace } from '../../../../services/platform/crews/source-repositories.ts'
import { createRepositorySeals } from '../../../../services/platform/crews/source-repository-seals.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { createForwardProxy } from '../../../../services/shared/outgoing/forward-proxy.ts'
import { createOutgoingGuard } from '../../../../services/shared/outgoing/guard.ts'
import { runGit } from '../../../../services/worker/git/run-git.ts'
import { pullRepository } from '../../../../services/worker/git/pull-repository.ts'
import { startForwardProxy } from '../../../support/forward-proxy.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { seedOwnAutomation } from '../../../support/own-crew.ts'
import { useDatabase } from '../../../support/use-database.ts'
import { hasGit, openGitServer, TOKEN } from './git-server.ts'

async function mkdtempHere(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'pull-test-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

const PROJECT = { 'main.py': 'def run(inputs):\n    return "done"\n', 'requirements.txt': '' }
const LONG_MS = 120_000
const database = useDatabase()
const seals = createRepositorySeals('k'.repeat(32))
const lines: string[] = []
const log = createLog({ name: 'worker', destination: { write: (line) => void lines.push(line) } })
let server: Awaited<ReturnType<typeof openGitServer>>
let made = 0

/** Only the guard knows where git.test is: git reaches it by the pinned address alone. */
const origin = (): string => `http://git.test:${server.port}`
const guardOf = (...privateOrigins: string[]) =>
  createOutgoingGuard({
    privateOrigins,
    setting: 'GIT_PRIVATE_ORIGINS',
    resolveName: async () => [{ address: '127.0.0.1', family: 4 }],
  })

async function createOne(place: Partial<RepositoryPlace>, token?: string) {
  made += 1
  const { id } = await seedOwnAutomation(database.sql, `Crew ${made}`, `Org ${made}`)
  const key = { deploymentId: id }
  const sealedToken = token ? seals.seal(token, { ...key, kind: 'credential' }) : null
  const url = place.url ?? `${origin()}/open/crew`
  const whole = { ref: 'main', directory: null, ...place, url }
  await saveRepository(database.sql, key, { ...whole, sealedToken })
  await database.sql`
    update crew_settings set entrypoint = 'main:run' where deployment_id = ${id}`
  return key
}

async function pull(
  key: { deploymentId: number },
  guard = guardOf(origin()),
  path = process.env['PATH'] ?? '',
) {
  await askPull(database.sql, key, null)
  const taken = await takeRepository(database.sql)
  if (!taken) throw new Error('nothing to take')
  const programs = { path, extraAuthoritiesPath: undefined }
  const deps = { sql: database.sql, log, seals, guard, programs, quotaBytes: 2 ** 30 }
  await pullRepository(deps, taken, new AbortController().signal)
  const { failure, lastCommit, isPulling } = await getRepository(database.sql, key)
  const deployments = await listCrewDeployments(database.sql, key, { limit: 10 })
  return { failure, lastCommit, isPulling, deployments }
}

// Where there is no git, nothing can be pulled: what a worker says then is tested below.
describe.skipIf(!hasGit())('a Git repository', { timeout: LONG_MS }, () => {
  beforeAll(async () => {
    server = await openGitServer()
    await server.commit('open/crew', PROJECT)
    await server.commit('private/crew', PROJECT)
  }, LONG_MS)
  afterAll(() => server.close())

  it('is pulled and deployed with its commit, and again only when there is a new one', async () => {
    const key = await createOne({})
    const first = await pull(key)
    expect(first).toMatchObject({ failure: null, isPulling: false })
    const [{ source }] = first.deployments as [(typeof first.deployments)[number]]
    expect(source).toMatchObject({ gitRef: 'main', gitCommit: first.lastCommit, name: 'crew' })
    expect(source.fileCount).toBe(2)
    expect((await pull(key)).deployments).toHaveLength(1)
    const commit = await server.commit('open/crew', { 'README.md': 'A crew.' })
    const second = await pull(key)
    expect(second).toMatchObject({ failure: null, lastCommit: commit })
    expect(second.deployments.map(({ number }) => number)).toEqual([2, 1])
    const [{ after }] = await database.sql<[{ after: unknown }]>`
      select after from audit_entries where action = 'crew_deployed' order by id desc limit 1`
    expect(after).toMatchObject({ git_commit: commit })
  })

  it('is pulled through a proxy, which alone has to know where it is', async () => {
    const login = 'git:s3cret/&'
    const proxy = await startForwardProxy({ names: { 'git.test': server.port }, login })
    onTestFinished(() => proxy.stop())
    const [user = '', password = ''] = login.split(':').map(encodeURIComponent)
    const HTTP_PROXY = new URL(proxy.url.replace('//', `//${user}:${password}@`))
    const guard = createOutgoingGuard({
      privateOrigins: [origin()],
      setting: 'GIT_PRIVATE_ORIGINS',
      resolveName: async () => [],
      proxy: createForwardProxy({ HTTP_PROXY }),
    })
    expect((await pull(await createOne({}), guard)).failure).toBeNull()
    expect(proxy.passed[0]).toContain(`GET ${origin()}/open/crew/info/refs`)
  })

  it('may have its project in a folder, beside files that no source may have', async () => {
    const files = { 'crews/one/main.py': PROJECT['main.py'], 'crews/one/requirements.txt': '' }
    await server.commit('open/many', { ...files, 'other/main.py': 'x' })
    const { failure, deployments } = await pull(
      await createOne({ url: `${origin()}/open/many`, directory: 'crews/one' }),
    )
    expect(failure).toBeNull()
    expect(deployments[0]?.source.fileCount).toBe(2)
  })

  it('is read with its token, which is in no log', async () => {
    const url = `${origin()}/private/crew`
    expect((await pull(await createOne({ url }, TOKEN))).failure).toBeNull()
    expect((await pull(await createOne({ url }, `oauth2:${TOKEN}`))).failure).toBeNull()
    expect((await pull(await createOne({ url }, 'a-wrong-token'))).failure).toMatch(/access token/)
    expect((await pull(await createOne({ url }))).failure).toMatch(/asks for an access token/)
    expect(lines.join('')).not.toMatch(/a-wrong-token|glpat/)
  })

  it('that cannot be pulled says why, and what to do', async () => {
    const failureOf = async (place: Partial<RepositoryPlace>) =>
      (await pull(await createOne(place))).failure
    expect(await failureOf({ ref: 'wrong' })).toMatch(/no branch or tag "wrong"/)
    expect(await failureOf({ directory: 'wrong' })).toMatch(/no folder "wrong"/)
    expect(await failureOf({ url: `${origin()}/open/nothing` })).toMatch(/no Git repository/)
    expect(await failureOf({ url: `${origin()}/moved/crew` })).toMatch(/sends to another address/)
    expect(server.calls.filter((path) => path.startsWith('/open/crew')).length).toBeGreaterThan(0)
  })

  it('is not asked for privately, or without TLS, unless operators allow it', async () => {
    const before = server.calls.length
    const key = await createOne({})
    expect((await pull(key, guardOf())).failure).toMatch(/by https only.*GIT_PRIVATE_ORIGINS/)
    const secure = await createOne({ url: `https://git.test:${server.port}/open/crew` })
    expect((await pull(secure, guardOf())).failure).toMatch(/no public address/)
    expect(server.calls).toHaveLength(before)
  })

  it('whose address git would read as another host sends its token nowhere', async () => {
    const heard: (string | undefined)[] = []
    const elsewhere = await startHttpServer(({ headers }, response) => {
      heard.push(headers.authorization)
      response.writeHead(404).end()
    })
    onTestFinished(() => elsewhere.stop())
    const before = server.calls.length
    for (const url of [
      `${origin()}\\@${new URL(elsewhere.url).host}/x.git`,
      `${origin()}\\.evil.example/x.git`,
      `http://git.test:${server.port}/open/crew\n--upload-pack=id`,
    ]) {
      const { failure, deployments } = await pull(await createOne({ url }, TOKEN))
      expect(failure).toMatch(/^The address of the repository must be written .* Save it/)
      expect(deployments).toEqual([])
    }
    expect([heard, server.calls.length]).toEqual([[], before])
  })

  it('that is larger than what git may write is refused', async () => {
    await server.commit('open/large', { large: randomBytes(300_000) })
    const directory = await mkdtempHere()
    const env = { PATH: process.env['PATH'] ?? '', GIT_CONFIG_NOSYSTEM: '1', HOME: directory }
    const call = { directory, env, signal: new AbortController().signal, fileBytesMax: 100_000 }
    await runGit({ ...call, args: ['init', '--quiet', '--bare', '.'] })
    const url = `http://127.0.0.1:${server.port}/open/large`
    const fetch = ['-c', 'fetch.unpackLimit=1', 'fetch', '--depth', '1', url, 'main']
    const refused = await runGit({ ...call, args: fetch })
    expect(refused).toMatchObject({ isTooLarge: true })
    expect(await runGit({ ...call, args: fetch, fileBytesMax: 1e6 })).toMatchObject({ code: 0 })
  })
})

describe('a worker without git', () => {
  it('says so with the repository', async () => {
    const url = 'https://git.test/open/crew'
    const { failure } = await pull(
      await createOne({ url }),
      guardOf('https://git.test'),
      '/nonexistent',
    )
    expect(failure).toMatch(/no program named git/)
  })
})
