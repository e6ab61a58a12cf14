import { mkdtemp, chmod, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../../../services/local/embedded-postgres.ts'
import { createSession, findSession } from '../../../../services/platform/people/sessions.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import type { Role } from '../../../../services/platform/people/users.ts'
import { addressUrl } from '../../../support/address-url.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { sqlState } from '../../../../services/shared/postgres/failures.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { openDatabasePing } from '../../../../services/shared/postgres/ping.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import { freePort } from '../../../support/free-port.ts'
import { codeOf, install, serveWeb } from './support/web.ts'
import type { Web } from './support/web.ts'
import { stallingDatabase } from './support/faults.ts'
import { POSTGRES_PASSWORD } from '../../../support/postgres-password.ts'
import { DATA_CACHE, SERVER_SETTINGS } from '../../../support/server-settings.ts'

const PASSWORD = 'canary-password-of-the-database'
const MIGRATIONS = new URL('../../../../services/platform/migrations/', import.meta.url)
const HBA = [
  'host all guarded 127.0.0.1/32 scram-sha-256',
  'host all banned 127.0.0.1/32 reject',
  'host all all 127.0.0.1/32 trust',
]

let directory: string
let port: number
let server: EmbeddedPostgres
let web: Web
let sql: Database

/** A server of its own, which can be stopped and filled up. */
async function startServer(): Promise<EmbeddedPostgres> {
  const hba = join(directory, 'hba.conf')
  await writeFile(hba, HBA.join('\n'), { mode: 0o644 })
  const settings = { ...SERVER_SETTINGS, hba_file: hba, max_connections: '12' }
  return startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port,
    settings,
    password: POSTGRES_PASSWORD,
    cache: DATA_CACHE,
  })
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'platform-faults-'))
  await chmod(directory, 0o755)
  port = await freePort()
  server = await startServer()
  sql = connectDatabase(parseAddress(server.url), { name: 'test', max: 1 })
  await migrate(sql, MIGRATIONS, createLog({ name: 'test', level: 'silent' }))
  await install(sql)
  await sql.unsafe(`create role guarded login password '${PASSWORD}'; create role banned login`)
  web = await serveWeb({
    databaseUrl: server.url,
  })
})

afterAll(async () => {
  await web.close()
  await sql.end()
  await server.stop()
  await rm(directory, { recursive: true, force: true })
})

const login = (user: string, password: string): string =>
  addressUrl({ ...parseAddress(server.url), user, password })

async function diagnose(databaseUrl: string) {
  const other = await serveWeb({ databaseUrl })
  const answer = await other.report()
  await other.close()
  expect(JSON.stringify(answer.report) + other.lines.join('')).not.toContain(PASSWORD)
  return answer
}

describe('a database that fails (SPEC 7)', () => {
  it('a wrong password is told from an unreachable server', async () => {
    const right = await diagnose(login('guarded', PASSWORD))
    expect(right.report.components.database.status).toBe('ok')
    const { http, report } = await diagnose(login('guarded', `${PASSWORD}-of-yesterday`))
    expect(http).toBe(503)
    expect(report.status).toBe('fail')
    expect(codeOf(report.components.database)).toBe('db_auth_failed')
    expect(report.components.database.error).toMatch(/^bad credentials: .*guarded/)
    for (const name of ['designer', 'tools', 'llm_connections'] as const) {
      expect(codeOf(report.components[name])).toBe('db_auth_failed')
    }
  })

  it('so is a rule that keeps this pod out', async () => {
    const { report } = await diagnose(login('banned', ''))
    expect(codeOf(report.components.database)).toBe('db_auth_failed')
    await sql`revoke connect on database postgres from public`
    const entry = await diagnose(login('guarded', PASSWORD))
    expect(codeOf(entry.report.components.database)).toBe('db_auth_failed')
    await sql`grant connect on database postgres to public`
  })

  it('missing rights on tables fail the designer, not the database', async () => {
    const { http, report } = await diagnose(login('guarded', PASSWORD))
    expect(http).toBe(200)
    expect(report.status).toBe('degraded')
    expect(codeOf(report.components.designer)).toBe('tables_unreadable')
    expect(report.components.designer.error).toMatch(/permission denied for table projects/)
  })

  it('a pool of the service that is full looks like nothing', async () => {
    const busy = [1, 2, 3].map(() => web.sql`select pg_sleep(0.7)`.catch(() => {}))
    const { report } = await web.report()
    expect(report.components.database.status).toBe('ok')
    expect(report.components.designer.status).toBe('ok')
    await Promise.all(busy)
  })

  it('a server without a free connection is unavailable, and well again by itself', async () => {
    const guests = await takeAllConnections(login('guarded', PASSWORD))
    const { http, report } = await diagnose(login('guarded', PASSWORD))
    expect(http).toBe(503)
    expect(codeOf(report.components.database)).toBe('db_unreachable')
    expect(report.components.database.error).toMatch(
      /^ConnectionFailed: .*(clients|connection slots)/,
    )
    await Promise.all(guests.map((guest) => guest.end()))
    await expect.poll(async () => (await web.report()).report.components.database.status).toBe('ok')
  })

  it('a locked table takes no longer than the limit, and only its layer fails', async () => {
    await sql.begin(async (held) => {
      await held`lock table projects in access exclusive mode`
      const { http, report } = await web.report()
      expect(http).toBe(200)
      expect(codeOf(report.components.designer)).toBe('db_timeout')
      expect(report.components.designer.checks).toEqual([
        'designer_v2_route_mounted',
        'agent_install_complete',
        'runner_install_complete',
      ])
      expect(report.components.database.status).toBe('ok')
    })
  })

  it('a server that stalls after the login fails in time, and fails nothing else', async () => {
    const stalling = await stallingDatabase(port)
    const address = { ...parseAddress(server.url), port: stalling.port }
    const { limits } = stalling
    const other = await serveWeb({ databaseUrl: addressUrl(address), diagnostics: { limits } })
    const { report } = await other.report()
    for (const name of ['database', 'designer', 'tools', 'llm_connections'] as const) {
      expect(codeOf(report.components[name])).toBe('db_timeout')
    }
    const { ping, close } = openDatabasePing(address, { name: 'test-ping' })
    await expect(ping()).rejects.toMatchObject({ code: 'timeout' })
    await close()
    // A rejection that nobody handles, for which Node would end the process, fails this whole file.
    await expect.poll(() => stalling.open()).toBe(0)
    await other.close()
    await stalling.stop()
  })

  it('a stopped server is unreachable, and a started one is well at once', async () => {
    await server.stop()
    const { http, report } = await web.report()
    expect(http).toBe(503)
    expect(report.status).toBe('fail')
    expect(codeOf(report.components.database)).toBe('db_unreachable')
    expect(report.components.database.error).toMatch(/^ConnectionFailed: .*ECONNREFUSED/)
    expect(report.components.designer.checks).toEqual(['designer_v2_route_mounted'])
    expect(report.components.designer.error?.match(/ECONNREFUSED/g)).toHaveLength(1)
    server = await startServer()
    expect(await web.report()).toMatchObject({ http: 200, report: { status: 'ok' } })
  })
})

describe('an administrator, while the database is unavailable (SPEC 4.1, 4.3)', () => {
  const PAGE = '/admin/platform_health'

  async function signIn(email: string, role?: Role) {
    const [{ id: organizationId } = { id: 0 }] = await sql<{ id: number }[]>`
      select id from organizations where internal`
    const person = {
      organizationId,
      role: 'viewer',
      email,
      name: 'Ada',
      passwordHash: null,
    } as const
    const userId = await ensureUser(sql, person)
    if (role) await grantRole(sql, userId, role)
    const token = await createSession(sql, userId)
    const cookie = `platform_session=${token}`
    const get = (path: string, url = web.url) =>
      fetch(url + path, { redirect: 'manual', headers: { cookie } })
    return { userId, cookie, token, get }
  }

  it('sees the verdict fail, on the page and in the report; nobody else sees either', async () => {
    const admin = await signIn('seen@acme.test', 'platform-admin')
    const member = await signIn('member@acme.test')
    const leaver = await signIn('leaver@acme.test', 'platform-admin')
    const former = await signIn('former@acme.test', 'platform-admin')
    const unseen = await signIn('unseen@acme.test', 'platform-admin')
    const elsewhere = await serveWeb({ databaseUrl: server.url })
    for (const { get } of [admin, member, leaver, former]) {
      expect((await get('/')).status).toBe(200)
    }
    const session = await findSession(sql, leaver.token)
    const signOut = await fetch(`${web.url}/sign-out`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie: leaver.cookie,
        origin: 'http://platform.test',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ csrf_token: session?.csrfToken ?? '' }),
    })
    expect(signOut.status).toBe(303)
    await sql`delete from user_roles where user_id = ${former.userId}`
    expect((await former.get('/health/debug')).status).toBe(404)
    await server.stop()

    const page = await admin.get(PAGE)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('The platform does not work')
    const report = await admin.get('/health/debug')
    expect(report.status).toBe(503)
    expect(await report.json()).toMatchObject({
      status: 'fail',
      components: { database: { status: 'fail' } },
    })
    expect((await admin.get(PAGE, elsewhere.url)).status).toBe(404)
    for (const { get } of [member, leaver, former, unseen]) {
      const nothing = await (await get('/nothing')).text()
      for (const path of [PAGE, '/health/debug']) {
        const answer = await get(path)
        expect(answer.status).toBe(404)
        expect(await answer.text()).toBe(nothing)
      }
    }

    server = await startServer()
    await sql`delete from user_roles where user_id = ${admin.userId}`
    await expect.poll(async () => (await admin.get('/health/debug')).status).toBe(404)
    await elsewhere.close()
  })
})

/** Connects until the server takes no more. */
async function takeAllConnections(url: string): Promise<postgres.Sql[]> {
  const guests: postgres.Sql[] = []
  for (;;) {
    const guest = postgres(url, { max: 1 })
    try {
      await guest`select 1`
      guests.push(guest)
    } catch (thrown) {
      expect(sqlState(thrown)).toBe('53300')
      await guest.end()
      return guests
    }
  }
}
