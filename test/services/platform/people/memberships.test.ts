import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recognizeIdentity } from '../../../../services/platform/people/identities.ts'
import type { Identity } from '../../../../services/platform/people/identities.ts'
import {
  removeMember as removeIn,
  setMembership,
} from '../../../../services/platform/people/memberships.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import {
  createSession,
  enterOrganization,
  findSession,
} from '../../../../services/platform/people/sessions.ts'
import { ensureUser } from '../../../../services/platform/people/users.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let acme: number
let globex: number

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  acme = (await ensureOrganization(sql, { name: 'Acme' })).id
  globex = (await ensureOrganization(sql, { name: 'Globex' })).id
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const removeMember = (key: { userId: number; organizationId: number }) =>
  sql.begin((tx) => removeIn(tx, key))

let people = 0
const person = () =>
  ensureUser(sql, {
    organizationId: acme,
    email: `p${(people += 1)}@example.com`,
    name: 'P',
    passwordHash: null,
  })
const rolesOf = async (userId: number) =>
  Object.fromEntries(
    (
      await sql<{ name: string; role: string; source: string }[]>`
        select o.name, m.role, m.source from memberships m
          join organizations o on o.id = m.organization_id where m.user_id = ${userId}`
    ).map(({ name, role, source }) => [`${name} ${source}`, role]),
  )

describe('a session', () => {
  it('is in one organization at a time, where forms of another one are no good', async () => {
    const userId = await person()
    await setMembership(sql, { userId, organizationId: acme, role: 'viewer' })
    await setMembership(sql, { userId, organizationId: globex, role: 'admin' })
    const token = await createSession(sql, userId)
    const before = await findSession(sql, token)
    expect(before).toMatchObject({
      organization: 'Acme',
      role: 'viewer',
      organizations: [
        { id: acme, name: 'Acme', role: 'viewer' },
        { id: globex, name: 'Globex', role: 'admin' },
      ],
    })
    expect(await enterOrganization(sql, token, globex)).toBe(true)
    const after = await findSession(sql, token)
    expect(after).toMatchObject({ organization: 'Globex', role: 'admin', id: before?.id })
    expect(after?.csrfToken).not.toBe(before?.csrfToken)
    expect(await enterOrganization(sql, token, globex)).toBe(true)
    expect((await findSession(sql, token))?.csrfToken).toBe(after?.csrfToken)
    expect(await findSession(sql, await createSession(sql, userId))).toMatchObject({
      organization: 'Globex',
    })
  })

  it('enters no organization of others, and goes on elsewhere when a membership ends', async () => {
    const userId = await person()
    await setMembership(sql, { userId, organizationId: acme, role: 'editor' })
    const token = await createSession(sql, userId)
    expect(await enterOrganization(sql, token, globex)).toBe(false)
    expect(await findSession(sql, token)).toMatchObject({ organization: 'Acme', role: 'editor' })
    await setMembership(sql, { userId, organizationId: globex, role: 'viewer' })
    expect(await removeMember({ userId, organizationId: acme })).toBe(true)
    expect(await findSession(sql, token)).toMatchObject({ organization: 'Globex', role: 'viewer' })
    expect(await removeMember({ userId, organizationId: globex })).toBe(true)
    expect(await findSession(sql, token)).toMatchObject({
      organization: '',
      role: null,
      organizations: [],
      user: { organizationId: 0 },
    })
  })
})

describe('the last admin of an organization', () => {
  it('stays one, also when two admins remove each other at once', async () => {
    const { id: organizationId } = await ensureOrganization(sql, { name: 'Duo' })
    const [ada, bob] = [await person(), await person()]
    for (const userId of [ada, bob])
      await setMembership(sql, { userId, organizationId, role: 'admin' })
    const removals = [ada, bob].map((userId) => removeMember({ userId, organizationId }))
    const results = await Promise.allSettled(removals)
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'conflict', message: expect.stringContaining('the last admin') },
    })
  })
})

describe('the groups of an identity provider', () => {
  const identity: Identity = {
    issuer: 'https://idp.test',
    subject: 'carol',
    email: null,
    name: 'Carol',
    roles: [],
  }
  const signIn = (change: Partial<Identity>) => recognizeIdentity(sql, { ...identity, ...change })

  it('give memberships from sign-in to sign-in, beside those given here', async () => {
    const first = await signIn({
      memberships: [
        { organization: 'Acme', role: 'viewer' },
        { organization: 'Acme', role: 'editor' },
        { organization: 'Nowhere', role: 'admin' },
      ],
    })
    const userId = Number(first?.userId)
    expect(first?.memberships).toEqual([{ organizationId: acme, role: 'editor', before: null }])
    await setMembership(sql, { userId, organizationId: acme, role: 'viewer' })
    expect(await findSession(sql, await createSession(sql, userId))).toMatchObject({
      role: 'editor',
    })
    const second = await signIn({ memberships: [{ organization: 'Globex', role: 'admin' }] })
    expect(second?.memberships).toEqual([
      { organizationId: globex, role: 'admin', before: null },
      { organizationId: acme, role: null, before: 'editor' },
    ])
    expect(await rolesOf(userId)).toEqual({ 'Acme local': 'viewer', 'Globex claim': 'admin' })
    expect(
      (await signIn({ memberships: [{ organization: 'Globex', role: 'admin' }] }))?.memberships,
    ).toEqual([])
  })

  it('are in the audit with what they change, once for two first sign-ins at once', async () => {
    const eve = { subject: 'eve', name: 'Eve', joinsAs: 'viewer' as const }
    const [first] = await Promise.all([signIn(eve), signIn(eve)])
    await signIn({ ...eve, roles: ['platform-admin'] })
    for (const role of ['viewer', 'admin'] as const) {
      await signIn({ ...eve, memberships: [{ organization: 'Globex', role }] })
    }
    await signIn(eve)
    const entries = await sql<object[]>`
      select action, actor_kind as by, organization_id as at, before, after from audit_entries
      where target_kind = 'user' and target_id = ${String(first?.userId)} order by id`
    const by = 'platform'
    expect(entries).toEqual([
      { action: 'user_created', by, at: null, before: null, after: { issuer: identity.issuer } },
      { action: 'member_set', by, at: acme, before: null, after: { role: 'viewer' } },
      { action: 'role_granted', by, at: null, before: null, after: { role: 'platform-admin' } },
      { action: 'role_withdrawn', by, at: null, before: { role: 'platform-admin' }, after: null },
      { action: 'member_set', by, at: globex, before: null, after: { role: 'viewer' } },
      {
        action: 'member_set',
        by,
        at: globex,
        before: { role: 'viewer' },
        after: { role: 'admin' },
      },
      { action: 'member_removed', by, at: globex, before: { role: 'admin' }, after: null },
    ])
  })

  it('leave those whom they put nowhere a role at their first sign-in only', async () => {
    const first = await signIn({ subject: 'dan', joinsAs: 'viewer' })
    const userId = Number(first?.userId)
    expect(await rolesOf(userId)).toEqual({ 'Acme local': 'viewer' })
    await removeMember({ userId, organizationId: acme })
    await signIn({ subject: 'dan', joinsAs: 'viewer' })
    expect(await rolesOf(userId)).toEqual({})
  })
})
