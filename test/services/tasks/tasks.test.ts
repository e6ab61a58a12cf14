import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyPassword } from '../../../services/platform/people/passwords.ts'
import { findOrganizationToken } from '../../../services/platform/automations/static-token-use.ts'
import { findCredentials } from '../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { explain } from '../../../services/shared/run.ts'
import { runTask, usage } from '../../../services/tasks/start.ts'
import { freePort } from '../../support/free-port.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { programPath, runProgram } from '../../support/program.ts'
import { few } from '../../support/long.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase('empty')
})

afterAll(() => database.drop())

async function task(...args: string[]) {
  const { code, stdout, stderr } = await runProgram('tasks', args, { DATABASE_URL: database.url })
  return { code, stdout, output: stdout + stderr }
}

/** What a task that fails says, without a program of its own, which adds only its exit code. */
const refusal = (...args: string[]): Promise<string> =>
  runTask(args, { DATABASE_URL: database.url, LOG_LEVEL: 'silent' }).then(
    (code) => `it ended with ${code ?? 0}`,
    explain,
  )

describe('npm run task', () => {
  it('lists the tasks, and again for a name that is none', async () => {
    expect(await task('--help')).toMatchObject({ code: 0, output: usage() })
    const unknown = await task('migrat')
    expect(unknown.code).toBe(1)
    expect(unknown.output).toContain('There is no task "migrat".')
    expect(unknown.output).toContain('designer:install_internal_organization')
  })

  it('migrates an empty database and sets it up, also when run again (SPEC 7)', async () => {
    const source = { DATABASE_URL: database.url, LOG_LEVEL: 'silent' }
    await runTask(['setup'], source)
    await runTask(['setup'], source)
    await runTask(['designer:install_internal_organization'], source)
    await runTask(['tools:install_public_repository'], source)
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    expect([...(await sql`select name, internal from organizations`)]).toEqual([
      { name: 'Platform', internal: true },
    ])
    expect([...(await sql`select name, organization_id from tool_repositories`)]).toEqual([
      { name: 'public', organizationId: null },
    ])
    await sql.end()
  })

  it('gives an organization two samples on the Runner, also when run again', async () => {
    const source = { DATABASE_URL: database.url, LOG_LEVEL: 'silent' }
    await expect(runTask(['seed', 'Nobody'], source)).rejects.toThrow('no organization "Nobody"')
    await expect(runTask(['seed'], source)).rejects.toThrow('run designer:runner:install')
    await runTask(['designer:runner:install', 'http://127.0.0.1:9'], source)
    await runTask(['seed'], source)
    await runTask(['seed', 'Default'], source)
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const seeded = await sql`
      select d.name, o.name as organization, host.slug as runs_on, d.status from deployments d
      join organizations o on o.id = d.organization_id
      join deployments host on host.id = d.runs_on order by d.id`
    const sample = { organization: 'Default', runsOn: 'runner', status: 'Crew is Online' }
    expect([...seeded]).toEqual([
      { name: 'Market research', ...sample },
      { name: 'Support triage', ...sample },
    ])
    await sql.end()
  })

  it('issues a token for a whole organization, and prints it', async () => {
    await task('designer:install_internal_organization')
    const created = await task('tokens:create', 'Platform', 'release pipeline')
    const token = created.output.trim().split('\n').at(-1) ?? ''
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    expect(
      await findOrganizationToken(sql, token, { scopes: ['upload'], address: undefined }),
    ).toMatchObject({ internal: true })
    const before = await sql`select 1 from static_tokens`
    for (const [args, problem] of [
      [['Nobody', 'x'], 'There is no organization "Nobody". There are: "Default", "Platform".'],
      [['Nobody', 'x'], '`organizations:create NAME` makes one.'],
      [['Platform'], 'Name the token'],
      [['Platform', 'a\u001bb'], 'Name the token'],
      [['Platform', 'x', 'read,root'], 'A scope of "read,root" is none. Use:'],
      [['Platform', 'x', 'read', '0'], '"0" is no number of days. Use:'],
    ] as const) {
      expect(await refusal('tokens:create', ...args)).toContain(problem)
    }
    expect(await sql`select 1 from static_tokens`).toHaveLength(before.length)
    await task('tokens:create', 'Platform', 'short', 'upload,read', '30')
    const [short] = await sql`
      select scopes, round(extract(epoch from expires_at - now()) / 86400)::int as days
      from static_tokens order by id desc limit 1`
    expect(short).toEqual({ scopes: ['upload', 'read'], days: 30 })
    await sql.end()
  })

  it('creates a person who can sign in, once, and an administrator only when told to', async () => {
    const created = await task('users:create', 'ada@example.com')
    expect(created.output).toContain('ada@example.com is a viewer of "Default".')
    const operator = await task('users:create', 'op@example.com', '--role', 'platform-admin')
    expect(operator.output).toContain(
      'op@example.com is an admin of "Default", and an administrator of the whole platform.',
    )
    const list = await task('users:list')
    expect(list.stdout).toMatch(/enabled\t-\tDefault: viewer\tada@example\.com/)
    expect(list.stdout).toMatch(/enabled\tplatform-admin\tDefault: admin\top@example\.com/)
    const typo = await task('users:create', 'eve@example.com', '--role', 'root')
    expect(typo).toMatchObject({ code: 1, output: expect.stringContaining('no role "root". Use:') })
    const password = created.stdout.trim().split('\n').at(-1) ?? ''
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const credentials = await findCredentials(sql, 'ada@example.com')
    expect(await verifyPassword(password, credentials?.passwordHash ?? null)).toBe(true)
    await sql.end()
    expect(await refusal('users:create', 'ada@example.com')).toContain('There is a user')
    expect(await refusal('users:create', 'ada')).toContain('"ada" is no e-mail')
  })

  it.each([
    ['tasks', ['migrate']],
    ['collector', ['migrate']],
  ])('ends %s %j at once on SIGTERM while it waits for the database', async (service, args) => {
    const child = spawn(process.execPath, [programPath(service), ...args], {
      env: { DATABASE_URL: 'postgres://nobody:x@127.0.0.1:9/none', COLLECTOR_JWT_SECRET: 'x' },
    })
    let output = ''
    const waits = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (data) => {
          output += String(data)
          if (output.includes('trying again')) resolve()
        })
      }
    })
    const ended = once(child, 'close')
    await Promise.race([waits, ended])
    child.kill('SIGTERM')
    expect({ ended: await ended, output }).toMatchObject({ ended: [143, null] })
  })

  it('puts new people where the automations are, and nowhere by a typo', async () => {
    const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
    const organizationOf = async (email: string) => {
      const [row] = await sql<{ name: string }[]>`
        select string_agg(o.name || ' ' || m.role, ', ' order by o.name) as name
        from users u join memberships m on m.user_id = u.id
          join organizations o on o.id = m.organization_id
        where u.email = ${email}`
      return row?.name ?? undefined
    }
    expect(await organizationOf('ada@example.com')).toBe('Default viewer')
    expect(await refusal('users:create', 'bob@example.com', 'Defalt')).toContain(
      'There is no organization "Defalt". Did you mean Default? ' +
        'There are: "Default", "Platform". `organizations:create NAME` makes one.',
    )
    expect(await organizationOf('bob@example.com')).toBeUndefined()

    expect(await task('organizations:create', 'Globex')).toMatchObject({ code: 0 })
    expect(await refusal('organizations:create', 'Globex')).toContain(
      'There is an organization "Globex" already.',
    )
    await task('users:create', 'bob@example.com', 'Globex')
    const set = await task('members:set', 'bob@example.com', 'Default', 'editor')
    expect(set.output).toContain('"audit":"member_set"')
    expect(await organizationOf('bob@example.com')).toBe('Default editor, Globex viewer')
    const removed = await task('members:remove', 'bob@example.com', 'Globex')
    expect(removed.output).toContain('"audit":"member_removed"')
    expect(await organizationOf('bob@example.com')).toBe('Default editor')
    expect(await refusal('members:set', 'bob@example.com', 'Default')).toContain(
      'Use: members:set EMAIL|ID ORGANIZATION ROLE',
    )
    await sql.end()
  }, 180_000)

  it.each(
    few([['seed'], ['users:create', 'ada@example.com'], ['tokens:create', 'Default', 'x']], 1),
  )('says within seconds that the database does not answer: %s', async (...args) => {
    const unavailable = `postgres://u:p@127.0.0.1:${await freePort()}/none`
    const { code, stdout, stderr } = await runProgram('tasks', args, {
      DATABASE_URL: unavailable,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+\/none does not answer: .*\n$/)
    expect(stdout.trim().split('\n')).toHaveLength(1)
  })

  it('waits for the database as long as it is told to', async () => {
    const unavailable = `postgres://u:p@127.0.0.1:${await freePort()}/none`
    const source = { DATABASE_URL: unavailable, LOG_LEVEL: 'silent', DATABASE_WAIT_SECONDS: '0' }
    await expect(runTask(['migrate'], source)).rejects.toThrow('does not answer')
  })

  it('says what is missing in its environment', async () => {
    await expect(runTask(['setup'], {})).rejects.toThrow('set DATABASE_URL, or DB_HOST')
    const config = {
      POD_NAMESPACE: 'x',
      PLATFORM_SECRET: 's',
      PLATFORM_SECRET_KEPT: 'k',
      PLATFORM_SECRET_KEYS: 'A',
    }
    await expect(runTask(['secrets:bootstrap'], config)).rejects.toThrow('runs in a Kubernetes pod')
  })
})
