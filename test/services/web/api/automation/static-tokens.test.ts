import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BASE_URL, openPlatform } from '../../support/platform.ts'
import type { SignedInUser, Platform } from '../../support/platform.ts'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

const page = () => `/automations/${platform.acme.research.automationId}`

/** Posts a form; a token may start runs and read them, unless the fields say otherwise. */
function post(path: string, fields: Record<string, string> = {}, user = ada) {
  const { scopes = 'kickoff read', ...others } = fields
  const body = new URLSearchParams({ csrf_token: user.csrfToken, ...others })
  for (const scope of scopes.split(' ').filter(Boolean)) body.append('scopes', scope)
  return platform.app.request(path, { method: 'POST', body, headers: { cookie: user.cookie } })
}

const show = async () =>
  (
    await (
      await platform.app.request(`${page()}/static-tokens`, { headers: { cookie: ada.cookie } })
    ).text()
  ).replace(/\s+/g, ' ')

/** Issues a token for the automation, or for one with another slug; '' for the organization. */
async function issue(
  name: string,
  automation = platform.acme.research.slug,
  more: Record<string, string> = {},
): Promise<string> {
  const response = await post(`${page()}/static-tokens`, { name, automation, ...more })
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
  it('are shown once, work, tell when they were used, and stop working when deleted', async () => {
    const token = await issue('CRM')
    const listed = await show()
    expect(listed).not.toContain(token)
    expect(listed).toContain(`pat_…${token.slice(-4)}`)
    expect(listed).toContain('wide">Never')
    expect(await callInputs(token)).toBe(200)
    expect(await show()).not.toContain('wide">Never')
    const deleted = await post(`${page()}/static-tokens/${await idOf('CRM')}/delete`)
    const told = `${page()}/static-tokens?notice=static-token-deleted`
    expect([deleted.status, deleted.headers.get('location')]).toEqual([303, told])
    expect(await callInputs(token)).toBe(401)
    expect(await show()).toContain('No static tokens yet')
  })

  it('are for one automation or the whole organization, and never for another one', async () => {
    const narrow = await issue('narrow')
    const wide = await issue('wide', '')
    expect(await show()).toContain('Whole organization')
    expect(await callInputs(narrow, platform.acme.digest)).toBe(401)
    expect(await callInputs(wide, platform.acme.digest)).toBe(200)
    expect(await callInputs(wide, platform.rival.research)).toBe(401)
  })

  it('are not deleted by others, twice, or under an id that is none', async () => {
    const token = await issue('ours', '')
    const id = await idOf('ours')
    const eve = await platform.signIn(platform.rival)
    expect((await post(`/static-tokens/${id}/delete`, {}, eve)).status).toBe(404)
    const replacement = await post('/static-tokens', { name: 'theirs', replaces: String(id) }, eve)
    expect(await replacement.text()).toContain(`Your organization has no token ${id} to replace.`)
    expect(await callInputs(token)).toBe(200)
    for (const bad of ['0', '-1', '1.5', 'x', '99999999999', '1e3', ' ']) {
      const response = await post(`/static-tokens/${encodeURIComponent(bad)}/delete`)
      expect(response.status).toBe(404)
    }
    expect((await post(`/static-tokens/${id}/delete`)).status).toBe(303)
    expect((await post(`/static-tokens/${id}/delete`)).status).toBe(404)
  })

  it('leave their last characters in the audit, which has not the rest', async () => {
    const token = await issue('logged', '')
    await post(`/static-tokens/${await idOf('logged')}/delete`)
    const entries = (await platform.audit()).slice(-2)
    const target = { targetName: `logged (pat_…${token.slice(-4)})` }
    expect(entries).toMatchObject([
      { action: 'static_token_created', ...target, after: { scopes: ['kickoff', 'read'] } },
      { action: 'static_token_deleted', ...target },
    ])
    expect(JSON.stringify([entries, platform.lines])).not.toContain(token)
  })

  it('do what they are for, and say to their bearers why they do no more', async () => {
    const calls = async (token: string) => {
      const at = (path: string, method = 'GET') =>
        platform.app.request(`${BASE_URL}${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(method === 'GET' ? {} : { body: '{}' }),
        })
      const crew = `/platform/api/v1/crew/${platform.acme.research.automationId}`
      const answers = await Promise.all([
        at(`${crew}/inputs`),
        at(`${crew}/kickoff`, 'POST'),
        at('/designer/v2/projects'),
        at('/designer/v2/projects', 'POST'),
        at('/tools/organization/simple/'),
        at('/tools/organization/', 'POST'),
      ])
      return answers.map(({ status }) => (status === 403 ? 'no' : 'yes')).join(' ')
    }
    const wide = (scopes: string) => issue(`for ${scopes}`, '', { scopes })
    expect(await calls(await wide('read'))).toBe('yes no yes no yes no')
    expect(await calls(await wide('kickoff'))).toBe('no yes no no no no')
    expect(await calls(await wide('design'))).toBe('no no yes yes no no')
    expect(await calls(await wide('upload'))).toBe('no no no no yes yes')
    expect(await calls(await wide('kickoff read design upload'))).toBe('yes yes yes yes yes yes')
    const reads = await wide('read')
    const refused = await platform.app.request(
      `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}/kickoff`,
      { method: 'POST', headers: { authorization: `Bearer ${reads}` } },
    )
    expect(refused.headers.get('www-authenticate')).toContain('scope="kickoff"')
    expect(await refused.json()).toMatchObject({
      error: 'insufficient_scope',
      message: 'The token lacks the scope kickoff. Use one that has it.',
    })
  })

  it('say that they have ended, and that they are used from elsewhere', async () => {
    const ended = await issue('ended')
    await platform.sql`
      update static_tokens set expires_at = now() where id = ${await idOf('ended')}`
    const path = `${BASE_URL}/platform/api/v1/crew/${platform.acme.research.automationId}/inputs`
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await platform.app.request(path, { headers })
      return [response.status, await response.json()]
    }
    expect(await ask(ended)).toMatchObject([401, { message: 'The token has expired.' }])
    const elsewhere = await issue('elsewhere', undefined, { networks: '192.0.2.0/24' })
    const message = 'The token may not be used from this address.'
    expect(await ask(elsewhere)).toMatchObject([401, { message }])
    const shown = await (
      await platform.app.request('/static-tokens', { headers: { cookie: ada.cookie } })
    ).text()
    expect(shown).toMatch(/elsewhere.*kickoff, read, from 192\.0\.2\.0\/24/s)
    expect(shown).toContain('Ended')
  })

  it('are replaced by others with the same limits, and both are good for a week', async () => {
    const former = await issue('rotated', undefined, { days: '30' })
    const id = await idOf('rotated')
    const form = await platform.app.request(`/static-tokens/${id}`, {
      headers: { cookie: ada.cookie },
    })
    const shown = (await form.text()).replace(/\s+/g, ' ')
    expect(shown).toContain(`name="replaces" value="${id}"`)
    expect(shown).toContain('name="days" value="30"')
    const fields = { name: 'rotated', automation: platform.acme.research.slug, days: '30' }
    const replaced = await post('/static-tokens', { ...fields, replaces: String(id) })
    const [token = ''] = /pat_[\w-]{43}/.exec(await replaced.text()) ?? []
    expect(token).not.toBe(former)
    expect([await callInputs(former), await callInputs(token)]).toEqual([200, 200])
    const rows = await platform.sql`
      select round(extract(epoch from expires_at - now()) / 86400)::int as days, replaces
      from static_tokens where name = 'rotated' order by id`
    expect(rows).toEqual([
      { days: 7, replaces: null },
      { days: 30, replaces: id },
    ])
  })

  it.each([
    [{ name: ' ' }, 'Name must name the system'],
    [{ name: 'a\u001bb' }, 'Name must have no control characters'],
    [{ scopes: '' }, 'It may must have at least one thing'],
    [{ scopes: 'admin' }, 'It may must have at least one thing'],
    [{ days: '0' }, 'must be a whole number from 1 to 3650'],
    [{ days: '1e2' }, 'must be a whole number from 1 to 3650'],
    [{ networks: '192.0.2.7/24' }, '&quot;192.0.2.7/24&quot; is neither an address nor a network'],
    [{ automation: 'rival-research' }, 'Your organization has no automation with the slug'],
  ])('are not issued with %j', async (fields, problem) => {
    const response = await post(`${page()}/static-tokens`, { name: 'wrong', ...fields })
    expect(response.status).toBe(422)
    expect(await response.text()).toContain(problem)
  })

  it('end within the time that the operator allows', async () => {
    const strict = platform.appAt(BASE_URL, { STATIC_TOKEN_DAYS_MAX: '60' })
    const issueFor = async (days: string) => {
      const body = new URLSearchParams({ csrf_token: ada.csrfToken, name: 'short', days })
      body.append('scopes', 'read')
      const headers = { cookie: ada.cookie }
      const response = await strict.request(`${page()}/static-tokens`, {
        method: 'POST',
        body,
        headers,
      })
      return [response.status, /at most 60 days/.test(await response.text())]
    }
    expect(await issueFor('60')).toEqual([200, false])
    expect(await issueFor('90')).toEqual([422, true])
    expect(await issueFor('')).toEqual([422, true])
    const shown = await strict.request(`${page()}/static-tokens`, {
      headers: { cookie: ada.cookie },
    })
    expect(await shown.text()).toMatch(/name="days"\s+value="60"/)
  })
})
