import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { createMailer, isMailAddress, isMailUrl } from '../../../../services/web/mail/mailer.ts'
import { createInvitation } from '../../../../services/platform/people/invitations.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

const PASSWORD = 'correct horse battery staple'
let platform: Platform
let admin: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  admin = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

/** Invites by the form, and returns the path of the link. */
async function invite(fields: Record<string, string> = {}): Promise<string> {
  const { post } = askAs(platform.app, admin)
  const answer = await post('/settings/organization/invitations', { role: 'editor', ...fields })
  const link = /http:\/\/platform\.test(\/invitations\/[\w-]{43})/.exec(await answer.text())?.[1]
  return link ?? `no link: ${answer.status}`
}

/** Opens a link in a browser without a session, and sends its form. */
async function join(link: string, fields: Record<string, string>): Promise<Response> {
  const shown = await platform.app.request(BASE_URL + link)
  const csrfToken = /name="csrf_token" value="([^"]+)"/.exec(await shown.text())?.[1] ?? ''
  const cookie = (shown.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  const typed = { name: 'Grace', next: PASSWORD, again: PASSWORD, csrf_token: csrfToken, ...fields }
  return platform.app.request(`${BASE_URL}${link}/account`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(typed),
  })
}

const members = async (organizationId = platform.acme.organizationId) =>
  (
    await platform.sql<{ text: string }[]>`
      select u.email || ' ' || m.role as text from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${organizationId} order by u.email`
  ).map(({ text }) => text)

describe('an invitation', () => {
  it('makes an account, a member and a session, once', async () => {
    const link = await invite({ note: 'Grace' })
    const joined = await join(link, { email: 'Grace@Example.com' })
    expect([joined.status, joined.headers.get('location')]).toEqual([303, '/?notice=joined'])
    expect(await members()).toContain('grace@example.com editor')
    const cookie = /platform_session=[^;]+/.exec(joined.headers.get('set-cookie') ?? '')?.[0] ?? ''
    const page = await platform.app.request(`${BASE_URL}/projects`, { headers: { cookie } })
    expect(page.status).toBe(200)
    expect((await join(link, { email: 'second@example.com' })).status).toBe(404)
    const [entry] = await platform.sql`
      select action, actor_name from audit_entries order by id desc limit 1`
    expect(entry).toEqual({ action: 'invitation_accepted', actorName: 'grace@example.com' })
    const everything = JSON.stringify([
      platform.lines,
      await platform.sql`select * from invitations`,
      await platform.sql`select * from audit_entries`,
    ])
    expect(everything).not.toContain(link.split('/')[2])
  })

  it('goes to one of those who accept it at once', async () => {
    const link = await invite()
    const guests = ['a', 'b'].map((name) => join(link, { email: `${name}@race.test` }))
    const statuses = (await Promise.all(guests)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([303, 404])
    expect((await members()).filter((each) => each.includes('@race.test'))).toHaveLength(1)
    const [row] = await platform.sql`
      select count(*)::int from users where email like '%@race.test'`
    expect(row).toEqual({ count: 1 })
  })

  it('is taken by somebody who is signed in, who is in that organization then', async () => {
    const link = await invite({ role: 'viewer' })
    const rival = await platform.signIn(platform.rival)
    const page = await (await askAs(platform.app, rival).get(link)).text()
    expect(page.replace(/\s+/g, ' ')).toContain('You are signed in as ada@rival.test.')
    expect((await askAs(platform.app, rival).post(link, { csrf_token: 'x' })).status).toBe(403)
    expect((await askAs(platform.app, rival).post(link)).status).toBe(303)
    expect(await members()).toContain('ada@rival.test viewer')
    const dashboard = await (await askAs(platform.app, rival).get('/')).text()
    expect(dashboard).toContain('acme research')
    // Another invitation to the same organization changes no role, and stays open.
    const again = await invite({ role: 'admin' })
    const inAcme = await (await askAs(platform.app, rival).get(again)).text()
    const csrf = /name="csrf_token" value="([^"]+)"/.exec(inAcme)?.[1] ?? ''
    const refused = await askAs(platform.app, rival).post(again, { csrf_token: csrf })
    expect(refused.status).toBe(409)
    expect(await refused.text()).toContain('a member of this organization already, as viewer')
    expect((await join(again, { email: 'third@example.com' })).status).toBe(303)
  })

  it('leads nowhere once it is revoked, has expired, or is made up', async () => {
    const link = await invite()
    const [{ id }] = await platform.sql<[{ id: number }]>`select max(id) as id from invitations`
    const path = `/settings/organization/invitations/${id}/delete`
    expect((await askAs(platform.app, admin).post(path)).status).toBe(303)
    expect((await askAs(platform.app, admin).post(path)).status).toBe(404)
    const expired = await invite()
    await platform.sql`
      update invitations set created_at = now() - interval '8 days',
        expires_at = now() - interval '1 day' where id = ${id + 1}`
    for (const each of [link, expired, `/invitations/${'A'.repeat(43)}`, '/invitations/%00']) {
      const answer = await platform.app.request(BASE_URL + each)
      expect(answer.status).toBe(404)
    }
  })

  it.each([
    [{ name: ' ' }, 422, 'Enter your name.'],
    [{ name: 'x'.repeat(201) }, 422, 'at most 200 characters; this one has 201'],
    [{ name: 'a\u0007b' }, 422, 'no control characters'],
    [{ email: 'grace' }, 422, 'Enter an email address'],
    [{ email: `${'x'.repeat(250)}@e.test` }, 422, 'Enter an email address'],
    [{ next: 'short', again: 'short' }, 422, 'between 12 and 1024'],
    [{ again: 'another one' }, 422, 'The two new passwords differ.'],
    [{ email: 'ada@acme.test' }, 409, 'There is an account with this address already.'],
    [{ csrf_token: 'x' }, 403, 'This form is no longer valid.'],
  ])('says what is wrong with %j', async (fields, status, message) => {
    const { organizationId, userId: createdBy } = platform.acme
    const invitation = { organizationId, role: 'viewer', note: '', createdBy } as const
    const { token } = await createInvitation(platform.sql, invitation)
    const answer = await join(`/invitations/${token}`, { email: 'new@example.com', ...fields })
    expect(answer.status).toBe(status)
    expect(await answer.text()).toContain(message)
  })

  it('is refused with a role or a note that cannot be', async () => {
    expect(await invite({ role: 'owner' })).toBe('no link: 422')
    expect(await invite({ note: 'x'.repeat(201) })).toBe('no link: 422')
    expect(await invite({ note: 'a\0b' })).toBe('no link: 422')
    await platform.sql`
      insert into invitations (organization_id, role, token_hash, expires_at)
      select ${platform.acme.organizationId}, 'viewer', sha256(n::text::bytea),
        now() + interval '1 hour' from generate_series(1, 200) n`
    expect(await invite()).toBe('no link: 422')
  })
})

describe('a link by mail', () => {
  const mails: string[] = []
  /** The invitations that there were when each mail arrived. */
  const committed: number[] = []
  let server: SMTPServer
  let port: number

  beforeAll(async () => {
    server = new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      onRcptTo: ({ address }, _session, done) =>
        done(address === 'nobody@example.com' ? new Error('no such mailbox') : undefined),
      onData(stream, _session, done) {
        const parts: Buffer[] = []
        stream.on('data', (part: Buffer) => parts.push(part))
        stream.on('end', () => {
          mails.push(Buffer.concat(parts).toString('utf8').replaceAll('=\r\n', ''))
          void (async () => {
            committed.push((await platform.sql`select from invitations`).length)
            done()
          })()
        })
      },
    })
    server.listen(0, '127.0.0.1')
    await once(server.server, 'listening')
    port = (server.server.address() as AddressInfo).port
  })
  afterAll(() => new Promise<void>((resolve) => server.close(resolve)))

  beforeEach(async () => void (await platform.sql`delete from invitations`))

  const appWith = (url: string) => platform.appAt(BASE_URL, { SMTP_URL: url })
  const invitations = '/settings/organization/invitations'
  const send = async (url: string, email: string): Promise<string> => {
    const { post } = askAs(appWith(url), admin)
    const answer = await post(invitations, { role: 'viewer', email })
    return (await answer.text()).replace(/\s+/g, ' ')
  }

  it('goes to whom somebody invites, and to people who lost their password', async () => {
    const plain = `smtp://127.0.0.1:${port}?tls=off`
    const page = await send(plain, 'grace@example.com')
    expect(page).toContain('A mail with the link was sent to grace@example.com.')
    const link = /http:\/\/platform\.test\/invitations\/[\w-]{43}/.exec(page)?.[0] ?? 'no link'
    expect(mails.at(-1)).toContain(link)
    expect(committed).toEqual([1])
    expect(mails.at(-1)).toMatch(/^From: crew-platform@platform\.test\r$/m)
    expect(mails.at(-1)).toMatch(/^To: grace@example\.com\r$/m)
    const { sql, acme } = platform
    await grantRole(sql, acme.userId, 'platform-admin')
    const operator = askAs(appWith(plain), await platform.signIn(acme))
    const reset = await operator.post(`/admin/people/${platform.rival.userId}/reset`)
    expect(await reset.text()).toContain(`sent to ${platform.rival.email}`)
    expect(mails.at(-1)).toMatch(/http:\/\/platform\.test\/reset-password\/[\w-]{43}/)
    const [entry] = await sql<{ after: object }[]>`
      select after from audit_entries where action = 'invitation_created' order by id desc limit 1`
    expect(entry?.after).toEqual({ role: 'viewer', note: '', mail: 'grace@example.com' })
  })

  it('is sent over the API as well, which says whether it was', async () => {
    const { cookie, csrfToken } = admin
    const app = appWith(`smtp://127.0.0.1:${port}?tls=off`)
    const ask = async (email: string, query = '') => {
      const answer = await app.request(`${BASE_URL}/designer/v2/invitations${query}`, {
        method: 'POST',
        headers: { cookie, 'x-csrf-token': csrfToken, 'content-type': 'application/json' },
        body: JSON.stringify({ role: 'viewer', email }),
      })
      return readObject(answer)
    }
    const before = mails.length
    expect(await ask('grace@example.com', '?dry_run=true')).toEqual({ role: 'viewer', note: '' })
    expect(mails).toHaveLength(before)
    const sent = await ask('grace@example.com')
    expect(sent).toMatchObject({ mailed: true })
    expect(mails.at(-1)).toContain(sent['link'])
    const failed = await ask('nobody@example.com')
    expect(failed).toMatchObject({ mailed: false })
    expect(mails).toHaveLength(before + 1)
    expect((await platform.app.request(String(failed['link']))).status).toBe(200)
  })

  it.each([
    ['whose server refuses the address', () => `smtp://127.0.0.1:${port}?tls=off`],
    ['whose server has a certificate of nobody', () => `smtp://127.0.0.1:${port}`],
    ['whose server is not there', () => 'smtps://127.0.0.1:1'],
  ])('%s is shown all the same, and sent nowhere', async (_, url) => {
    const before = mails.length
    const page = await send(url(), 'nobody@example.com')
    expect(page).toContain('The mail to nobody@example.com could not be sent')
    expect(page).toMatch(/http:\/\/platform\.test\/invitations\/[\w-]{43}/)
    expect(mails).toHaveLength(before)
    const text = JSON.stringify(platform.lines)
    expect(text).toContain('a mail with a link was not sent')
    expect(text).not.toMatch(/invitations\/[\w-]{43}/)
  })

  it('takes no longer than its deadline', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port: deaf } = silent.address() as AddressInfo
    const mailer = createMailer({ url: `smtp://127.0.0.1:${deaf}`, from: 'a@b.c', timeoutMs: 50 })
    await expect(mailer.send({ to: 'x@y.z', subject: 's', text: 't' })).rejects.toThrow()
    silent.close()
  })

  it('is for one address, and asked for only where there is a mail server', async () => {
    for (const bad of [
      'a@b,c@d',
      'a b@c',
      'x@y\r\nBcc: z@y',
      '<a@b>',
      'a',
      `${'a'.repeat(260)}@b`,
    ]) {
      expect(isMailAddress(bad)).toBe(false)
    }
    for (const bad of ['http://a', 'smtp://', 'mail.example.com', 'smtp://a/b']) {
      expect(isMailUrl(bad)).toBe(false)
    }
    const page = await send(`smtp://127.0.0.1:${port}?tls=off`, 'a@b, c@d')
    expect(page).toContain('Send the link to must be one address such as ada@example.com.')
    expect(page).toContain('name="email"')
    const without = askAs(platform.app, admin)
    expect(await (await without.get(invitations)).text()).not.toContain('name="email"')
    const refused = await without.post(invitations, { role: 'viewer', email: 'grace@example.com' })
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('This platform has no mail server')
    expect(await platform.sql`select from invitations`).toHaveLength(0)
  })
})
