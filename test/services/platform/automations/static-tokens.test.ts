import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import {
  isStaticToken,
  createStaticToken,
  endStaticToken,
  findStaticToken,
  issueStaticToken,
  listStaticTokens,
  revokeStaticToken,
} from '../../../../services/platform/automations/static-tokens.ts'
import { findAutomationToken } from '../../../../services/platform/automations/static-token-use.ts'
import type { TokenUse } from '../../../../services/platform/automations/static-token-use.ts'
import { readNetworks } from '../../../../services/platform/automations/token-limits.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let [ours, sibling, theirs]: Automation[] = []

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  ours = await seedAutomation(sql, { organization: 'A', slug: 'ours' })
  sibling = await seedAutomation(sql, { organization: 'A', slug: 'sibling' })
  theirs = await seedAutomation(sql, { organization: 'B', slug: 'theirs' })
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const present = (deployment: Automation | undefined): Automation => {
  if (!deployment) throw new Error('not seeded')
  return deployment
}

/** Uses a token as a call that reads does. */
const accept = async (token: string, automation: Automation, use: Partial<TokenUse> = {}) => {
  const found = await findAutomationToken(sql, token, {
    automation,
    scopes: ['read'],
    address: '192.0.2.7',
    ...use,
  })
  return found && (found.refusal ?? found.name)
}

const issue = (deployment: Automation, scope: 'automation' | 'organization') =>
  issueStaticToken(sql, {
    organizationId: deployment.organizationId,
    deploymentId: scope === 'automation' ? deployment.id : null,
    name: scope,
    createdBy: null,
  })

describe('static tokens (SPEC 5.2)', () => {
  it('open one automation, or all of the organization, and never those of another', async () => {
    const one = await issue(present(ours), 'automation')
    const all = await issue(present(ours), 'organization')
    const opened = await Promise.all(
      [one, all].flatMap((token) =>
        [ours, sibling, theirs].map((each) => accept(token, present(each))),
      ),
    )
    expect(opened.map((each) => each !== undefined)).toEqual([
      true,
      false,
      false,
      true,
      true,
      false,
    ])
  })

  it('have a shape of their own', async () => {
    expect(isStaticToken(await issue(present(ours), 'automation'))).toBe(true)
    for (const other of ['', 'pat_', 'eyJhbGciOiJub25lIn0.e30.', `pat_${'a'.repeat(44)}`])
      expect(isStaticToken(other)).toBe(false)
  })

  it('are stored as a hash: the database alone opens nothing', async () => {
    const token = await issue(present(ours), 'automation')
    expect(JSON.stringify(await sql`select * from static_tokens`)).not.toContain(token.slice(4, 20))
  })

  it('are listed with last four characters and last use, until revoked', async () => {
    const token = await issue(present(sibling), 'automation')
    await accept(token, present(sibling))
    const listed = (await listStaticTokens(sql, present(sibling), { limit: 10 })).items.find(
      ({ lastFour }) => token.endsWith(lastFour),
    )
    expect(listed).toMatchObject({
      name: 'automation',
      lastUsedAt: expect.any(Date),
      lastUsedAddress: '192.0.2.7',
    })
    const { organizationId } = present(sibling)
    const id = listed?.id ?? 0
    expect(
      await revokeStaticToken(sql, { id, organizationId: present(theirs).organizationId }),
    ).toBe(false)
    expect(await accept(token, present(sibling))).toBe('automation')
    expect(await revokeStaticToken(sql, { id, organizationId })).toBe(true)
    expect(await revokeStaticToken(sql, { id, organizationId })).toBe(false)
    expect(await accept(token, present(sibling))).toBeUndefined()
  })

  const limited = [
    { limits: { scopes: ['read'] }, use: {}, result: 'limited' },
    { limits: { scopes: ['kickoff'] }, use: {}, result: 'insufficient_scope' },
    { limits: { scopes: ['kickoff'] }, use: { scopes: ['read', 'kickoff'] }, result: 'limited' },
    { limits: { expiresAt: new Date(Date.now() + 3_600_000) }, use: {}, result: 'limited' },
    { limits: { expiresAt: new Date(Date.now() - 1000) }, use: {}, result: 'token_expired' },
    { limits: { networks: ['192.0.2.0/24'] }, use: {}, result: 'limited' },
    { limits: { networks: ['198.51.100.7/32'] }, use: {}, result: 'address_not_allowed' },
    { limits: { networks: ['2001:db8::/32'] }, use: {}, result: 'address_not_allowed' },
    {
      limits: { networks: ['198.51.100.7/32', '2001:db8::/32'] },
      use: { address: '2001:db8::1' },
      result: 'limited',
    },
    {
      limits: { networks: ['0.0.0.0/0', '::/0'] },
      use: { address: undefined },
      result: 'address_not_allowed',
    },
  ] as const
  it.each(limited)('with $limits are $result for $use', async ({ limits, use, result }) => {
    const { id, organizationId } = present(ours)
    const owner = { organizationId, deploymentId: id, name: 'limited', createdBy: null }
    const token = await issueStaticToken(sql, { ...owner, ...limits })
    expect(await accept(token, present(ours), use)).toBe(result)
    // To others a token with limits is no more than any unknown one.
    expect(await accept(token, present(theirs), use)).toBeUndefined()
    const [{ lastUsedAt }] = await sql<[{ lastUsedAt: Date | null }]>`
      select last_used_at from static_tokens order by id desc limit 1`
    expect(lastUsedAt !== null).toBe(result === 'limited')
  })

  it('end some days after they were replaced, and never later than they would have', async () => {
    const { id, organizationId } = present(ours)
    const owner = { organizationId, deploymentId: id, name: 'replaced', createdBy: null }
    const hourFromNow = new Date(Date.now() + 3_600_000)
    const { id: endless } = await createStaticToken(sql, owner)
    const { id: short } = await createStaticToken(sql, { ...owner, expiresAt: hourFromNow })
    expect(await endStaticToken(sql, { id: endless, organizationId }, 7)).toBe(true)
    expect(await endStaticToken(sql, { id: short, organizationId }, 7)).toBe(true)
    const foreign = { id: endless, organizationId: present(theirs).organizationId }
    expect(await endStaticToken(sql, foreign, 0)).toBe(false)
    const ends = async (token: number) =>
      (await findStaticToken(sql, { id: token, organizationId }))?.expiresAt?.getTime() ?? 0
    expect(Math.abs((await ends(endless)) - Date.now() - 7 * 86_400_000)).toBeLessThan(600_000)
    expect(await ends(short)).toBe(hourFromNow.getTime())
  })
})

describe('the networks of a token', () => {
  it.each([
    ['', []],
    ['192.0.2.7', ['192.0.2.7/32']],
    ['192.0.2.0/24, 10.0.0.0/8\n::1', ['192.0.2.0/24', '10.0.0.0/8', '::1/128']],
    ['2001:db8::/32 2001:db8::/32', ['2001:db8::/32']],
    ['::ffff:192.0.2.0/120', ['::ffff:192.0.2.0/120']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
  ])('are read from "%s"', async (text, networks) => {
    expect(readNetworks(text)).toEqual(networks)
    // As PostgreSQL takes them.
    await sql`select ${networks}::text[]::cidr[]`
  })

  it.each([
    'x',
    '192.0.2.7/24',
    '192.0.2.0/33',
    '1.2.3',
    '2001:db8::1/32',
    'fe80::1%eth0',
    '/8',
    '::/',
  ])('are not read from "%s"', (text) => {
    expect(readNetworks(`10.0.0.0/8 ${text}`)).toEqual({ wrong: text })
  })
})
