import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { hashPassword, verifyPassword } from '../../../services/platform/people/passwords.ts'
import {
  createSession,
  deleteExpiredSessions,
  deleteSession,
  findSession,
} from '../../../services/platform/people/sessions.ts'
import {
  clearFailures,
  countFailure,
  throttledForSeconds,
} from '../../../services/platform/people/sign-in-failures.ts'
import {
  ensureUser,
  findCredentials,
  grantRole,
  ROLES,
} from '../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let userId: number

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme' })
  userId = await ensureUser(sql, {
    organizationId,
    role: 'editor',
    email: 'Ada@Example.com',
    name: 'Ada',
    passwordHash: 'hash',
  })
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

/** What hashing costs, where the cost is not what is tested. */
const CHEAP = { N: 1024, r: 8, p: 1 }

describe('passwords', () => {
  it('are known again, and only they', async () => {
    const hash = await hashPassword('correct horse battery')
    expect(hash).not.toContain('correct')
    // What OWASP asks for.
    expect(hash).toMatch(/^scrypt\$131072\$8\$1\$/)
    expect(await verifyPassword('correct horse battery', hash)).toBe(true)
    const cheap = await hashPassword('correct horse battery', CHEAP)
    expect(await verifyPassword('correct horse battery', cheap)).toBe(true)
    expect(await verifyPassword('correct horse batterz', cheap)).toBe(false)
    expect(await verifyPassword('correct horse battery', null, CHEAP)).toBe(false)
  })

  it('match whichever way a keyboard composes an accent', async () => {
    const hash = await hashPassword('caf\u00e9 au lait', CHEAP)
    expect(await verifyPassword('caf\u0065\u0301 au lait', hash)).toBe(true)
  })

  it('have at least twelve characters', async () => {
    await expect(hashPassword('short')).rejects.toMatchObject({ code: 'unprocessable' })
  })
})

describe('users', () => {
  it('are known by their address in any case', async () => {
    expect(await findCredentials(sql, 'ADA@example.COM')).toEqual({
      id: userId,
      passwordHash: 'hash',
      isDisabled: false,
    })
    expect(await findCredentials(sql, 'nobody@example.com')).toBeUndefined()
  })
})

describe('sessions', () => {
  it('carry the roles that the user has at that moment', async () => {
    const token = await createSession(sql, userId)
    expect((await findSession(sql, token))?.user.roles).toEqual([])
    for (const role of ROLES) await grantRole(sql, userId, role)
    expect(await findSession(sql, token)).toMatchObject({
      user: { email: 'ada@example.com', roles: ['platform-admin'] },
      organization: 'Acme',
      role: 'editor',
    })
  })

  it('are stored as a hash: the database alone opens none', async () => {
    const token = await createSession(sql, userId)
    const rows = await sql`select * from sessions`
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  it('end when they are deleted, after their lifetime, and when idle', async () => {
    const [deleted, old, idle] = [
      await createSession(sql, userId),
      await createSession(sql, userId),
      await createSession(sql, userId),
    ]
    await deleteSession(sql, deleted)
    expect(await findSession(sql, deleted)).toBeUndefined()
    await sql`update sessions set expires_at = now() where token_hash = sha256(${old}::text::bytea)`
    expect(await findSession(sql, old)).toBeUndefined()
    await sql`
      update sessions set last_seen_at = now() - interval '3 hours'
      where token_hash = sha256(${idle}::text::bytea)`
    expect(await findSession(sql, idle)).toBeUndefined()
    await deleteExpiredSessions(sql)
    const [row] = await sql`
        select count(*)::int as left from sessions
        where token_hash in (sha256(${old}::text::bytea), sha256(${idle}::text::bytea))`
    expect(row).toEqual({ left: 0 })
  })
})

describe('failed sign-ins', () => {
  const throttle = { subject: 'account:ada', limit: 3, windowSeconds: 60 }

  it('close the door at the limit, until the window of the first one ends', async () => {
    for (let i = 0; i < 2; i += 1) await countFailure(sql, throttle)
    expect(await throttledForSeconds(sql, throttle)).toBe(0)
    await countFailure(sql, throttle)
    expect(await throttledForSeconds(sql, throttle)).toBeGreaterThan(50)
    await sql`update sign_in_failures set window_ends_at = now()`
    expect(await throttledForSeconds(sql, throttle)).toBe(0)
    await countFailure(sql, throttle)
    expect(await throttledForSeconds(sql, throttle)).toBe(0)
  })

  it('are forgotten after a good sign-in', async () => {
    for (let i = 0; i < 5; i += 1) await countFailure(sql, throttle)
    await clearFailures(sql, throttle.subject)
    expect(await throttledForSeconds(sql, throttle)).toBe(0)
  })
})
