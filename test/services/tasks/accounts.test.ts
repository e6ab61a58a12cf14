import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recognizeIdentity } from '../../../services/platform/people/identities.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { verifyPassword } from '../../../services/platform/people/passwords.ts'
import {
  createSession,
  findSession,
  hasLiveRole,
} from '../../../services/platform/people/sessions.ts'
import { countFailure } from '../../../services/platform/people/sign-in-failures.ts'
import { issueStaticToken } from '../../../services/platform/automations/static-tokens.ts'
import { ensureUser, findCredentials, grantRole } from '../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createLog } from '../../../services/shared/log.ts'
import { disable, enable, printUsers, resetPassword } from '../../../services/tasks/accounts.ts'
import { createUser, readUserRequest } from '../../../services/tasks/create-user.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const EMAIL = 'ada@example.com'
let database: TestDatabase
let sql: Database
let organizationId: number
let userId: number
const lines: Record<string, unknown>[] = []
const log = createLog({
  name: 'test',
  destination: { write: (line) => void lines.push(JSON.parse(line)) },
})

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  ;({ id: organizationId } = await ensureOrganization(sql, { name: 'Acme' }))
  const user = {
    organizationId,
    role: 'admin' as const,
    email: EMAIL,
    name: 'Ada',
    passwordHash: null,
  }
  userId = await ensureUser(sql, user)
  await grantRole(sql, userId, 'platform-admin')
})

beforeEach(() => {
  lines.length = 0
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const person = (subject: string) =>
  recognizeIdentity(sql, {
    issuer: 'https://idp.test',
    subject,
    email: `${subject}@example.com`,
    name: subject,
    roles: [],
  })

describe('users:password', () => {
  it('gives a new password, ends every session and forgets failed attempts', async () => {
    const token = await createSession(sql, userId)
    await countFailure(sql, { subject: `account:${EMAIL}`, limit: 10, windowSeconds: 900 })
    const password = await resetPassword(sql, ' Ada@Example.com'.trim(), log)
    expect(password).toMatch(/^[\w-]{20}$/)
    const { passwordHash = null } = (await findCredentials(sql, EMAIL)) ?? {}
    expect(await verifyPassword(password, passwordHash)).toBe(true)
    expect(await findSession(sql, token)).toBeUndefined()
    expect(await sql`select from sign_in_failures`).toHaveLength(0)
    const facts = { audit: 'password_reset', user_id: userId, sessions_ended: 1 }
    expect(lines).toMatchObject([facts])
    expect(JSON.stringify(lines)).not.toContain(password)
  })

  it('is not for people of an identity provider', async () => {
    const known = await person('carol')
    await expect(resetPassword(sql, String(known?.userId), log)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Change it there.'),
    })
    await expect(resetPassword(sql, '', log)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('users:disable and users:enable', () => {
  it('end the sessions at once and open none until it is undone', async () => {
    const token = await createSession(sql, userId)
    const deploymentId = null
    await issueStaticToken(sql, { organizationId, deploymentId, name: 'ci', createdBy: userId })
    await disable(sql, EMAIL, log)
    expect(await findSession(sql, token)).toBeUndefined()
    // One that a sign-in made at the same moment.
    const late = await createSession(sql, userId)
    expect(await findSession(sql, late)).toBeUndefined()
    expect(await hasLiveRole(sql, late, 'platform-admin')).toBe(false)
    expect(lines).toMatchObject([
      { audit: 'user_disabled', user_id: userId, sessions_ended: 1, live_tokens: 1 },
      { level: 'warn', msg: expect.stringContaining('still work') },
    ])
    await enable(sql, EMAIL, log)
    expect(await findSession(sql, late)).toBeUndefined()
    const next = await createSession(sql, userId)
    expect(await findSession(sql, next)).toBeDefined()
    await enable(sql, EMAIL, log)
    expect(await findSession(sql, next)).toBeDefined()
    expect(lines.filter(({ audit }) => audit === 'user_enabled')).toHaveLength(1)
  })

  it('hold for people of an identity provider, whatever it says', async () => {
    const known = await person('dave')
    await disable(sql, String(known?.userId), log)
    expect(await person('dave')).toBeUndefined()
    await enable(sql, String(known?.userId), log)
    expect(await person('dave')).toMatchObject({ userId: known?.userId })
  })
})

describe('users:list and users:create', () => {
  it('list everybody, page by page, with control characters made harmless', async () => {
    await sql`
      insert into users (organization_id, email, name)
      select ${organizationId}, 'user' || n || '@example.com', 'User'
      from generate_series(1, 1100) n`
    await disable(sql, EMAIL, log)
    const printed: string[] = []
    await printUsers(sql, (line) => void printed.push(line))
    const [{ count }] = await sql<[{ count: number }]>`select count(*)::int from users`
    expect(printed).toHaveLength(count)
    expect(printed[0]).toBe(
      [userId, 'disabled', 'platform-admin', 'Acme: admin', EMAIL, 'password'].join('\t'),
    )
    expect(printed.find((line) => line.includes('carol'))).toContain('https://idp.test')
  })

  it('tell how to go on when the address is taken', async () => {
    await expect(createUser(sql, readUserRequest([EMAIL]))).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/users:password .*users:enable .*users:grant /),
    })
  })
})
