import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recognizeIdentity } from '../../../services/platform/people/identities.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { createSession, findSession } from '../../../services/platform/people/sessions.ts'
import { ensureUser } from '../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createLog } from '../../../services/shared/log.ts'
import { changeRole } from '../../../services/tasks/roles.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let userId: number
const lines: Record<string, unknown>[] = []

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme' })
  const user = { organizationId, email: 'ada@example.com', name: 'Ada', passwordHash: null }
  userId = await ensureUser(sql, user)
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
const log = createLog({ name: 'test', destination })
const change = (kind: 'grant' | 'revoke', who: string, role?: string) =>
  changeRole(sql, { who, role, kind }, log)
const rolesNow = async () => (await findSession(sql, await createSession(sql, userId)))?.user.roles

describe('users:grant and users:revoke', () => {
  it('change the rights of a person, and end earlier sessions (SPEC 5.1)', async () => {
    const before = await createSession(sql, userId)
    await change('grant', 'Ada@Example.com')
    expect(await findSession(sql, before)).toBeUndefined()
    expect(await rolesNow()).toEqual(['platform-admin'])
    const during = await createSession(sql, userId)
    await change('grant', 'ada@example.com')
    expect(await findSession(sql, during)).toBeDefined()
    await change('revoke', String(userId), 'platform-admin')
    expect(await findSession(sql, during)).toBeUndefined()
    expect(await rolesNow()).toEqual([])
    const facts = { user_id: userId, role: 'platform-admin', source: 'local' }
    expect(lines.filter(({ audit }) => audit !== undefined)).toMatchObject([
      { audit: 'role_granted', ...facts },
      { audit: 'role_withdrawn', ...facts },
    ])
  })

  it('name people of an identity provider by id: anybody may have their address', async () => {
    const mallory = { subject: 'mallory', email: 'boss@example.com', name: 'Boss' }
    const known = await recognizeIdentity(sql, {
      issuer: 'https://idp.test',
      ...mallory,
      roles: [],
    })
    const other = Number(known?.userId)
    await expect(change('grant', 'boss@example.com')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`  ${other}: mallory of https://idp.test`),
    })
    await change('grant', String(other))
    const roles = await sql`select role, source from user_roles where user_id = ${other}`
    expect([...roles]).toEqual([{ role: 'platform-admin', source: 'local' }])
  })

  it('take back only what was granted by hand, never what a claim gives', async () => {
    const identity = { issuer: 'https://idp.test', subject: 'ada', email: null, name: 'Ada' }
    const known = await recognizeIdentity(sql, { ...identity, roles: ['platform-admin'] })
    await change('revoke', String(known?.userId))
    const roles =
      await sql`select role, source from user_roles where user_id = ${Number(known?.userId)}`
    expect([...roles]).toEqual([{ role: 'platform-admin', source: 'claim' }])
  })

  it('say who or what is not known', async () => {
    await expect(change('grant', 'nobody@example.com')).rejects.toMatchObject({ code: 'not_found' })
    await expect(change('grant', '999999')).rejects.toMatchObject({ code: 'not_found' })
    await expect(change('grant', 'ada@example.com', 'root')).rejects.toThrow(
      'There is no role "root", only platform-admin.',
    )
  })
})
