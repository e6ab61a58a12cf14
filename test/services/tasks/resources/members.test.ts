import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { setMembership } from '../../../../services/platform/people/memberships.ts'
import { ensureUser } from '../../../../services/platform/people/users.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'
import { createRunner, serveApp } from './support.ts'

let platform: Platform
let server: Awaited<ReturnType<typeof serveApp>>
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  server = await serveApp(platform.app)
})
afterAll(async () => {
  await server.stop()
  await platform.close()
})
beforeEach(async () => {
  const { sql, acme } = platform
  const { organizationId } = acme
  await sql`delete from users where id <> all(${[acme.userId, platform.rival.userId]})`
  const email = 'grace@example.com'
  const grace = await ensureUser(sql, { organizationId, email, name: 'grace', passwordHash: null })
  const [{ id: nameless }] = await sql<[{ id: number }]>`
    insert into users (organization_id, issuer, subject, name)
    values (${organizationId}, 'https://idp.test', '1', 'Nameless') returning id`
  for (const userId of [grace, nameless]) {
    await setMembership(sql, { userId, organizationId, role: 'viewer' })
  }
})

const run = createRunner(() => ({ url: server.url, token }))
const member = (name: string, role: string) =>
  `kind: member\nname: ${name}\nspec:\n  role: ${role}\n`
const files = (...documents: readonly string[]): string => documents.join('---\n')
const ADA = member('ada@acme.test', 'admin')
const rolesOf = async () =>
  (
    await platform.sql<{ text: string }[]>`
      select u.name || ' ' || m.role as text from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${platform.acme.organizationId} order by 1`
  ).map(({ text }) => text)

describe('members in files', () => {
  it('are exported by their addresses, and unchanged when they are applied', async () => {
    const exported = await run.export('--kind', 'member')
    // Files cannot name a person without an address.
    expect(exported).toBe(files(ADA, member('grace@example.com', 'viewer')))
    expect((await run.apply(exported)).result).toContain('0 to delete, 2 unchanged')
    expect(await run.export()).not.toContain('kind: invitation')
  })

  it('get another role', async () => {
    const changed = await run.apply(member('grace@example.com', 'editor'))
    expect(changed).toMatchObject({ code: 0, problem: '' })
    expect(changed.result).toContain('member "grace@example.com": change\n    role: "viewer" -> ')
    expect(await rolesOf()).toContain('grace editor')
  })

  it('are not made: the message says how a person becomes one', async () => {
    const grace = member('grace@example.com', 'editor')
    const refused = await run.apply(files(grace, member('eve@example.com', 'viewer')))
    expect(refused).toMatchObject({ code: 2, result: '' })
    expect(refused.problem).toContain(
      'all.yaml:7:1: name: There is no member "eve@example.com", and files create none. ' +
        'Did you mean grace@example.com? A person becomes a member by an invitation: ' +
        'POST /designer/v2/invitations.\n',
    )
    expect(await rolesOf()).toContain('grace viewer')
  })

  it.each([
    ['owner', 'spec.role: must be one of viewer, editor, admin'],
    ['admin', 'A token makes no admin'],
  ])('do not become %s, which is found before anything changes', async (role, problem) => {
    const refused = await run.apply(member('grace@example.com', role))
    expect([refused.code, refused.problem]).toEqual([2, expect.stringContaining(problem)])
    expect(await rolesOf()).toContain('grace viewer')
  })

  it('are removed with --prune where no document has them, if one can name them', async () => {
    const pruned = await run.apply(ADA, '--prune')
    expect(pruned).toMatchObject({ code: 0, problem: '' })
    expect(pruned.result).toContain('deleted member "grace@example.com"')
    expect(await rolesOf()).toEqual(['Ada Park admin', 'Nameless viewer'])
  })

  it('stay where a token may not remove them: an admin whom no document has', async () => {
    const pruned = await run.apply(member('grace@example.com', 'viewer'), '--prune')
    expect(pruned.code).toBe(2)
    expect(pruned.problem).toContain('A token neither changes nor removes an admin')
    expect(await rolesOf()).toContain('Ada Park admin')
  })
})
