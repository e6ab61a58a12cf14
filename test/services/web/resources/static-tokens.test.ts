import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import type { TokenLimits } from '../../../../services/platform/automations/token-limits.ts'
import { BASE_URL, openPlatform, readObject, withMembers } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

const DAY_MS = 86_400_000
const PATH = '/designer/v2/static-tokens'
let platform: Platform

beforeAll(async () => {
  const opened = await openPlatform()
  platform = withMembers(opened, { app: opened.appAt(BASE_URL, { TRUSTED_PROXIES: '1' }) })
})

afterAll(() => platform.close())

/** A token that changes settings for a month, unless the limits say otherwise. */
async function issue(limits: Partial<TokenLimits> = {}, of = platform.acme) {
  const { id, secret } = await createStaticToken(platform.sql, {
    organizationId: of.organizationId,
    deploymentId: null,
    name: 'CI',
    createdBy: of.userId,
    scopes: ['settings', 'read'],
    expiresAt: new Date(Date.now() + 30 * DAY_MS),
    ...limits,
  })
  const call = async (request: string, body?: object) => {
    const [method = '', path = ''] = request.split(' ')
    return platform.app.request(path, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'x-forwarded-for': '10.0.0.1',
      },
      body: body ? JSON.stringify(body) : null,
    })
  }
  return { id, call }
}

const WANTED = { name: 'made', scopes: ['read'], days: 20 }

describe('a token that issues tokens', () => {
  it('answers the secret once, and lists, shows and deletes without it', async () => {
    const { call } = await issue()
    const automation = platform.acme.research.slug
    const made = await call(`POST ${PATH}`, { ...WANTED, automation, networks: ['192.0.2.7'] })
    const { token, ...shown } = await readObject(made)
    expect(made.status).toBe(201)
    expect(String(token).slice(-4)).toBe(shown['last_four'])
    expect(shown).toMatchObject({ ...WANTED, automation, networks: ['192.0.2.7/32'] })
    const one = made.headers.get('location') ?? ''
    expect(await readObject(await call(`GET ${one}`))).toEqual(shown)
    const list = await (await call(`GET ${PATH}`)).text()
    expect([list.includes('"made"'), list.includes(String(token))]).toEqual([true, false])
    expect((await call(`PUT ${one}`, WANTED)).status).toBe(405)
    expect((await call(`DELETE ${one}`)).status).toBe(204)
    expect((await call(`GET ${one}`)).status).toBe(404)
  })

  it.each<[Partial<TokenLimits>, object, string | null]>([
    [{}, {}, null],
    [{}, { scopes: ['read', 'settings'] }, null],
    [{}, { scopes: ['read', 'kickoff'] }, 'has a scope that the token which calls lacks'],
    [{}, { scopes: ['upload'] }, 'has a scope that the token which calls lacks'],
    [{}, { days: 31 }, 'would last longer'],
    [{}, { days: null }, 'would last longer'],
    [{ expiresAt: null }, { days: null }, null],
    [{ networks: ['10.0.0.0/8'] }, {}, 'could be used from addresses'],
    [{ networks: ['10.0.0.0/8'] }, { networks: ['10.1.0.0/16', '11.0.0.1'] }, 'could be used from'],
    [{ networks: ['10.0.0.0/8'] }, { networks: ['::/0'] }, 'could be used from'],
    [{ networks: ['10.0.0.0/8', '::/0'] }, { networks: ['10.1.0.0/16', '2001:db8::1'] }, null],
  ])('of %j issues %j no stronger than itself', async (own, wanted, problem) => {
    const { call } = await issue(own)
    const count = () => platform.sql`select from static_tokens`
    const before = await count()
    const answer = await call(`POST ${PATH}`, { ...WANTED, ...wanted })
    expect(answer.status).toBe(problem === null ? 201 : 403)
    if (problem !== null) {
      expect(await answer.text()).toContain(problem)
      expect(await count()).toHaveLength(before.length)
    }
  })

  it('gets no stronger one by replacing that of another', async () => {
    const strong = await issue({ scopes: ['design', 'settings'], expiresAt: null })
    const { call } = await issue()
    const wanted = { ...WANTED, scopes: ['design'], replaces: strong.id }
    expect((await call(`POST ${PATH}`, wanted)).status).toBe(403)
    const [row] = await platform.sql`select expires_at from static_tokens where id = ${strong.id}`
    expect(row?.['expiresAt']).toBeNull()
  })

  it('issues nothing once it is deleted, has ended, or lacks the scope', async () => {
    const [deleted, ended, reader] = await Promise.all([
      issue(),
      issue({ expiresAt: new Date(0) }),
      issue({ scopes: ['read', 'design', 'kickoff', 'upload'] }),
    ])
    const one = `${PATH}/${deleted.id}`
    // Its own end is the last that it does.
    expect((await deleted.call(`DELETE ${one}`)).status).toBe(204)
    expect((await deleted.call(`POST ${PATH}`, WANTED)).status).toBe(401)
    expect((await ended.call(`POST ${PATH}`, WANTED)).status).toBe(401)
    expect((await reader.call(`POST ${PATH}`, WANTED)).status).toBe(403)
    expect((await reader.call(`GET ${PATH}`)).status).toBe(200)
  })

  it('knows none of another organization', async () => {
    const ours = await issue()
    const theirs = await issue({}, platform.rival)
    expect((await theirs.call(`GET ${PATH}/${ours.id}`)).status).toBe(404)
    expect((await theirs.call(`DELETE ${PATH}/${ours.id}`)).status).toBe(404)
    const { slug } = platform.acme.research
    const foreign = [{ automation: slug }, { replaces: ours.id }]
    for (const each of foreign) {
      expect((await theirs.call(`POST ${PATH}`, { ...WANTED, ...each })).status).toBe(422)
    }
    expect((await ours.call(`GET ${PATH}/${ours.id}`)).status).toBe(200)
  })
})

describe('a person who issues a token over the API', () => {
  it('is the one who made it, as on a page', async () => {
    const { sql, acme } = platform
    const { cookie, csrfToken } = await platform.signIn(acme)
    const answer = await platform.app.request(BASE_URL + PATH, {
      method: 'POST',
      headers: {
        cookie,
        origin: BASE_URL,
        'x-csrf-token': csrfToken,
        'content-type': 'application/json',
      },
      body: JSON.stringify(WANTED),
    })
    const { id } = await readObject(answer)
    const [row] = await sql`select created_by from static_tokens where id = ${Number(id)}`
    expect(row).toEqual({ createdBy: acme.userId })
  })
})
