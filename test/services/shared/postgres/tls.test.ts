import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../../../services/local/embedded-postgres.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { isDatabaseUnavailable } from '../../../../services/shared/postgres/failures.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { createMutualTls } from '../../../../services/tasks/certificates.ts'
import type { DatabaseAddress } from '../../../../services/shared/postgres/address.ts'
import { buildProgram } from '../../../support/build.ts'
import { freePort } from '../../../support/free-port.ts'
import { POSTGRES_PASSWORD } from '../../../support/postgres-password.ts'
import { DATA_CACHE, SERVER_SETTINGS } from '../../../support/server-settings.ts'

let directory: string
let server: EmbeddedPostgres
let address: DatabaseAddress
let authorityPath: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'platform-test-'))
  await chmod(directory, 0o755)
  const data = join(directory, 'data')
  server = await startEmbeddedPostgres({
    directory: data,
    port: await freePort(),
    password: POSTGRES_PASSWORD,
    settings: SERVER_SETTINGS,
    cache: DATA_CACHE,
  })
  const { uid, gid } = await stat(data)
  const [tls, other] = [createMutualTls(['localhost']), createMutualTls(['localhost'])]
  authorityPath = join(directory, 'authority.pem')
  await writeFile(authorityPath, tls.authority)
  const files = {
    'server.crt': tls.server.certificate,
    'server.key': tls.server.key,
    'other.crt': other.server.certificate,
    'other.key': other.server.key,
  }
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(data, name), content, { mode: 0o600 })
    await chown(join(data, name), uid, gid)
  }
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  await sql`alter system set ssl = on`
  await sql`select pg_reload_conf()`
  await sql.end()
  address = { ...parseAddress(server.url), sslMode: 'require' }
})

afterAll(async () => {
  await server.stop()
  await rm(directory, { recursive: true, force: true })
})

const isEncrypted = (sql: postgres.Sql) =>
  sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.then(([row]) => row?.['ssl'])

const REFUSED_NAME = 'is for other names than 127.0.0.1. Set DB_HOST to one of the names in it'
const REFUSED_AUTHORITY = 'Name its authority in global.caBundle (NODE_EXTRA_CA_CERTS)'
const SERVICES = ['web', 'worker', 'oauth', 'collector']

interface Outcomes {
  readonly verified: Readonly<Record<string, unknown>>
  readonly otherName: Readonly<Record<string, unknown>>
  readonly otherAuthority: Readonly<Record<string, unknown>>
}

/** A server in between that can cut what passes through it. */
async function openProxy(
  serve: (client: Socket) => void,
): Promise<{ proxy: Server; port: number }> {
  const proxy = createServer(serve).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return { proxy, port: (proxy.address() as AddressInfo).port }
}

describe('a connection with TLS (SPEC 2.6)', () => {
  it('is encrypted with sslmode require', async () => {
    const sql = connectDatabase(address, { name: 'test' })
    expect(await isEncrypted(sql)).toBe(true)
    await sql.end()
  })

  it('demands a certificate of a known authority with verify-full', async () => {
    const verified = { ...address, sslMode: 'verify-full' as const }
    const sql = connectDatabase(verified, { name: 'test' })
    await expect(sql`select 1`).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
    await sql.end()
  })

  it('refuses a server without TLS, and one that closes before TLS begins', async () => {
    const plain = await openProxy((client) => client.once('data', () => client.end('N')))
    const gone = await openProxy((client) => client.once('data', () => client.destroy()))
    const attempt = async (port: number) => {
      const sql = connectDatabase({ ...address, port }, { name: 'test', max: 1 })
      const thrown = await sql`select 1`.catch((error: unknown) => error)
      // Once more over the same slot of the pool.
      await sql`select 1`.catch(() => {})
      await sql.end({ timeout: 1 })
      return thrown
    }
    expect(await attempt(plain.port)).toMatchObject({
      message: expect.stringContaining('does not offer TLS'),
    })
    expect(isDatabaseUnavailable(await attempt(gone.port))).toBe(true)
    for (const { proxy } of [plain, gone]) proxy.close()
  })

  it('gives up on a server that never answers', async () => {
    const held: Socket[] = []
    const { proxy, port } = await openProxy((client) => void held.push(client.resume()))
    const sql = connectDatabase(
      { ...address, port },
      { name: 'test', max: 1, connectTimeoutMs: 100 },
    )
    const thrown = await sql`select 1`.catch((error: unknown) => error)
    expect(thrown).toMatchObject({ code: 'CONNECT_TIMEOUT' })
    expect(isDatabaseUnavailable(thrown)).toBe(true)
    await sql.end({ timeout: 1 })
    await expect.poll(() => held.every((socket) => socket.closed)).toBe(true)
    proxy.close()
  })

  it.each(['reset', 'closed'])(
    'fails a transaction whose connection is %s, and goes on with a new one',
    async (how) => {
      const sockets = new Set<Socket>()
      const { proxy, port } = await openProxy((client) => {
        const back = connect(address.port, address.host)
        for (const socket of [client, back]) sockets.add(socket.on('error', () => {}))
        client.pipe(back).pipe(client)
      })
      const sql = connectDatabase({ ...address, port }, { name: 'test', max: 1 })
      const failed = sql.begin(async (tx) => {
        await tx`select 1`
        for (const socket of sockets) {
          if (how === 'reset') socket.resetAndDestroy()
          else socket.destroy()
        }
        await tx`select pg_sleep(10)`
      })
      expect(await failed.catch(isDatabaseUnavailable)).toBe(true)
      expect(await isEncrypted(sql)).toBe(true)
      await sql.end({ timeout: 1 })
      proxy.close()
    },
  )
})

describe("DB_SSLMODE=verify-full with an authority of one's own", () => {
  let outcomes: Outcomes

  beforeAll(async () => {
    const sql = postgres(server.url, { max: 1, onnotice: () => {} })
    await sql`create database platform`
    await sql.end()
    const backups = await mkdtemp(join(tmpdir(), 'backups-'))
    const program = join(directory, 'verified-programs.mjs')
    await buildProgram('test/services/shared/postgres/verified-programs.ts', program)
    const args = [program, String(address.port), address.password, backups, server.url]
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: authorityPath },
    })
    outcomes = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcomes
    await rm(backups, { recursive: true })
  }, 300_000)

  it('lets every program work that has the authority in global.caBundle', () => {
    const { bootstrap, doctor, 'collector migrate': migrated, ...others } = outcomes.verified
    expect([bootstrap, migrated]).toEqual(['', ''])
    expect(doctor).toMatch(/"encrypted": ?true/)
    expect(doctor).not.toContain('fail')
    expect(others).toEqual({
      migrate: 0,
      setup: 0,
      'crew tasks': 0,
      backup: 0,
      web: 200,
      worker: 200,
      oauth: 200,
      collector: 200,
    })
  })

  it.each([
    ['otherName', REFUSED_NAME],
    ['otherAuthority', REFUSED_AUTHORITY],
  ] as const)('refuses every program with %s, and says what to do', (kind, advice) => {
    for (const [program, outcome] of Object.entries(outcomes[kind])) {
      if (SERVICES.includes(program)) expect([program, outcome]).toEqual([program, 503])
      else expect(`${program}: ${String(outcome)}`).toContain(advice)
    }
    expect(Object.keys(outcomes[kind])).toHaveLength(11)
  })
})
