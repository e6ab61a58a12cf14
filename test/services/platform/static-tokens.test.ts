import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Automation } from '../../../services/platform/automations.ts'
import {
  acceptStaticToken,
  isStaticToken,
  issueStaticToken,
  listStaticTokens,
  revokeStaticToken,
} from '../../../services/platform/static-tokens.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../support/platform.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

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
        [ours, sibling, theirs].map((each) => acceptStaticToken(sql, token, present(each))),
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
    await acceptStaticToken(sql, token, present(sibling))
    const listed = (await listStaticTokens(sql, present(sibling), { limit: 10 })).items.find(
      ({ lastFour }) => token.endsWith(lastFour),
    )
    expect(listed).toMatchObject({ name: 'automation', lastUsedAt: expect.any(Date) })
    const { organizationId } = present(sibling)
    const id = listed?.id ?? 0
    expect(
      await revokeStaticToken(sql, { id, organizationId: present(theirs).organizationId }),
    ).toBe(false)
    expect(await acceptStaticToken(sql, token, present(sibling))).toMatchObject({
      name: 'automation',
    })
    expect(await revokeStaticToken(sql, { id, organizationId })).toBe(true)
    expect(await revokeStaticToken(sql, { id, organizationId })).toBe(false)
    expect(await acceptStaticToken(sql, token, present(sibling))).toBeUndefined()
  })
})
