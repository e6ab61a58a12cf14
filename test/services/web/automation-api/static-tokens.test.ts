import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BASE_URL, openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

const page = () => `/automations/${platform.acme.research.automationId}`

const post = (path: string, fields: Record<string, string> = {}, user = ada) =>
  platform.app.request(path, {
    method: 'POST',
    body: new URLSearchParams({ csrf_token: user.csrfToken, ...fields }),
    headers: { cookie: user.cookie },
  })

const show = async () =>
  (await (await platform.app.request(page(), { headers: { cookie: ada.cookie } })).text()).replace(
    /\s+/g,
    ' ',
  )

async function issue(name: string, scope = 'automation'): Promise<string> {
  const response = await post(`${page()}/tokens`, { name, scope })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  const [token = ''] = /pat_[\w-]{43}/.exec(await response.text()) ?? []
  return token
}

const callInputs = async (token: string, automation = platform.acme.research) => {
  const path = `${BASE_URL}/platform/api/v1/crew/${automation.automationId}/inputs`
  return (await platform.app.request(path, { headers: { authorization: `Bearer ${token}` } }))
    .status
}

const idOf = async (name: string): Promise<number> => {
  const [row] = await platform.sql<[{ id: number }]>`
    select id from static_tokens where name = ${name}`
  return row.id
}

describe('static tokens (SPEC 5.2)', () => {
  it('are shown once, work, tell when they were used, and stop working when revoked', async () => {
    const token = await issue('CRM')
    const listed = await show()
    expect(listed).not.toContain(token)
    expect(listed).toContain(`pat_…${token.slice(-4)}`)
    expect(listed).toContain('Never')
    expect(await callInputs(token)).toBe(200)
    expect(await show()).not.toContain('Never')
    const revoked = await post(`${page()}/tokens/${await idOf('CRM')}/revoke`)
    expect(revoked.status).toBe(303)
    expect(revoked.headers.get('location')).toBe(`${page()}?notice=token-revoked`)
    expect(await callInputs(token)).toBe(401)
    expect(await show()).toContain('No tokens yet')
  })

  it('are for one automation or the whole organization, and never for another one', async () => {
    const narrow = await issue('narrow')
    const wide = await issue('wide', 'organization')
    expect(await show()).toContain('Whole organization')
    expect(await callInputs(narrow, platform.acme.digest)).toBe(401)
    expect(await callInputs(wide, platform.acme.digest)).toBe(200)
    expect(await callInputs(wide, platform.rival.research)).toBe(401)
  })

  it('are not revoked by others, twice, or under an id that is none', async () => {
    const token = await issue('ours', 'organization')
    const id = await idOf('ours')
    const eve = await platform.signIn(platform.rival)
    const theirs = `/automations/${platform.rival.research.automationId}`
    expect((await post(`${theirs}/tokens/${id}/revoke`, {}, eve)).status).toBe(404)
    expect((await post(`${page()}/tokens/${id}/revoke`, {}, eve)).status).toBe(404)
    expect(await callInputs(token)).toBe(200)
    for (const bad of ['0', '-1', '1.5', 'x', '99999999999', '1e3', ' ']) {
      const response = await post(`${page()}/tokens/${encodeURIComponent(bad)}/revoke`)
      expect(response.status).toBe(404)
    }
    expect((await post(`${page()}/tokens/${id}/revoke`)).status).toBe(303)
    expect((await post(`${page()}/tokens/${id}/revoke`)).status).toBe(404)
  })

  it('need a name that can be shown', async () => {
    const before = await platform.sql`select 1 from static_tokens`
    const cases: [string, string][] = [
      ['  ', 'Give the token a name'],
      ['x'.repeat(101), 'at most 100 characters'],
      ['a\0b', 'no control characters'],
      ['a\u001bb', 'no control characters'],
    ]
    for (const [name, problem] of cases) {
      const response = await post(`${page()}/tokens`, { name })
      expect(response.status).toBe(422)
      expect(await response.text()).toContain(problem)
    }
    expect(await platform.sql`select 1 from static_tokens`).toHaveLength(before.length)
    expect(await issue('é🐳'.padEnd(100, 'x'))).toMatch(/^pat_/)
  })

  it('leave an entry in the audit for each issue and revocation, without the token', async () => {
    const token = await issue('logged', 'organization')
    await post(`${page()}/tokens/${await idOf('logged')}/revoke`)
    const entries = (await platform.audit()).slice(-2)
    const actorId = String(platform.acme.userId)
    const targetName = 'logged'
    expect(entries).toMatchObject([
      { action: 'static_token_issued', actorId, targetName, after: { last_four: token.slice(-4) } },
      { action: 'static_token_revoked', actorId, targetName },
    ])
    expect(JSON.stringify([entries, platform.lines])).not.toContain(token)
  })
})
