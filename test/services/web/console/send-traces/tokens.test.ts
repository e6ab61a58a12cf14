import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenLimits } from '../../../../../services/platform/automations/token-limits.ts'
import { TRACE_TOKENS_A_YEAR } from '../../../../../services/platform/traces/trace-tokens.ts'
import { postTo } from '../../../collector/support/harness.ts'
import { freshId, requestOf, spanOf, toProtobuf } from '../../../collector/support/otlp.ts'
import { BASE_URL, readObject } from '../../support/platform.ts'
import type { SignedInUser } from '../../support/platform.ts'
import { openSendTraces } from '../../support/send-traces.ts'
import type { SendTraces } from '../../support/send-traces.ts'

const DAY_MS = 86_400_000

describe('tokens of the trace collector', () => {
  let site: SendTraces
  let ada: SignedInUser
  let rival: SignedInUser
  beforeAll(async () => {
    site = await openSendTraces()
    ada = await site.platform.signIn(site.platform.acme)
    rival = await site.platform.signIn(site.platform.rival)
  })
  afterAll(() => site.close())

  const tokenOf = async (fields: Record<string, string> = {}, user = ada): Promise<string> =>
    (await site.issue(user, fields)).get('Token') ?? ''
  const write = async (token: string, traceId = freshId() + freshId()): Promise<number> => {
    const body = toProtobuf(requestOf(spanOf({ traceId })))
    const headers = { authorization: `Bearer ${token}` }
    return (await postTo(site.collector.collector.url, body, headers)).status
  }
  const read = async (token: string, path = '/api/traces'): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(site.collector.collector.url + path, { headers })).status
  }
  const show = async (user = ada, query = ''): Promise<string> =>
    (await (await site.get(`/trace-tokens${query}`, user)).text()).replace(/\s+/g, ' ')
  const pathOf = async (name: string): Promise<string> => {
    const [row] = await site.platform.sql<[{ id: string }]>`
      select token_id as id from trace_tokens where name = ${name}`
    return `/trace-tokens/${row.id}`
  }
  const remove = async (name: string, user = ada): Promise<Response> =>
    site.post(`${await pathOf(name)}/delete`, {}, user)

  it('are shown once, with what they allow, and are listed without the token', async () => {
    const token = await tokenOf({ name: 'billing <b>', days: '30' })
    const { org, scope, jti, iat = 0, exp = 0 } = decodeJwt(token)
    expect([org, scope]).toEqual([`${site.platform.acme.organizationId}`, 'traces:write'])
    expect(Math.round((exp - iat) / 86_400)).toBe(30)
    expect([await write(token), await read(token)]).toEqual([200, 403])
    const listed = await show()
    expect(listed).not.toContain(token)
    expect(listed).toContain('billing &lt;b&gt;')
    expect(listed).toContain(String(jti))
    expect(listed).toContain('by Ada Park')
    const stored = await site.platform.sql`select to_jsonb(t)::text as row from trace_tokens t`
    expect(JSON.stringify(stored)).not.toContain(token.split('.')[2])
    expect(JSON.stringify(site.platform.lines)).not.toContain(token)
  })

  it('read what the organization has sent, and nothing of another one', async () => {
    const [ours, theirs] = [freshId() + freshId(), freshId() + freshId()]
    await write(await tokenOf(), ours)
    await write(await tokenOf({}, rival), theirs)
    const reader = await tokenOf({ scope: 'traces:read' })
    expect(await write(reader)).toBe(403)
    expect(await read(reader, `/api/traces/${ours}`)).toBe(200)
    expect(await read(reader, `/api/traces/${theirs}`)).toBe(404)
  })

  it('are refused by the collector once they are deleted, and say so', async () => {
    const token = await tokenOf({ name: 'leaked' })
    const question = await site.get(`${await pathOf('leaked')}/delete`, ada)
    expect(await question.text()).toContain('Delete the trace token leaked?')
    expect(await write(token)).toBe(200)
    const answer = await remove('leaked')
    expect(answer.headers.get('location')).toBe('/trace-tokens?notice=trace-token-deleted')
    expect(await write(token)).toBe(401)
    const listed = await show(ada, '?q=leaked&notice=trace-token-deleted')
    expect(listed).toMatch(/The token is deleted\..*Nothing matches “leaked”/)
    expect((await remove('leaked')).status).toBe(404)
    const targetId = (await pathOf('leaked')).replace('/trace-tokens/', '')
    expect((await site.platform.audit()).slice(-2)).toMatchObject([
      { action: 'trace_token_created', targetId, after: { scope: 'traces:write', days: 90 } },
      { action: 'trace_token_deleted', targetId, targetName: 'leaked' },
    ])
  })

  it('are seen and deleted by members of their organization only', async () => {
    const token = await tokenOf({ name: 'ours alone' })
    expect(await show(rival)).not.toContain('ours alone')
    expect(await show(rival, '?q=alone')).toContain('Nothing matches “alone”')
    expect((await site.get(await pathOf('ours alone'), rival)).status).toBe(404)
    expect((await remove('ours alone', rival)).status).toBe(404)
    expect(await write(token)).toBe(200)
  })

  it('stay as they are while the collector cannot be told', async () => {
    const lost = await openSendTraces()
    const user = await lost.platform.signIn(lost.platform.acme)
    await lost.issue(user)
    await lost.collector.collector.stop()
    const list = async () => (await lost.get('/trace-tokens', user)).text()
    const [path = ''] = /\/trace-tokens\/[0-9a-f-]{36}/.exec(await list()) ?? []
    expect((await lost.post(`${path}/delete`, {}, user)).status).toBe(503)
    expect(await list()).toContain('Works')
    await lost.close()
  })

  it('warn a week before they expire', async () => {
    const { sql } = site.platform
    const warning = 'expires within a week'
    const warned = async () => (await site.get('/send-traces', ada)).text()
    expect(await warned()).not.toContain(warning)
    await tokenOf({ name: 'ending', days: '6' })
    expect(await warned()).toContain(`1 token ${warning}`)
    expect(await show(ada, '?q=ending')).toMatch(/ending.*Expires soon/)
    const past = new Date(Date.now() - DAY_MS)
    await sql`
      update trace_tokens set created_at = ${past} - interval '1 day', expires_at = ${past}
      where name = 'ending'`
    expect(await show(ada, '?q=ending')).toMatch(/ending.*Expired/)
    expect(await warned()).not.toContain(warning)
  })

  it('are issued by tokens that may read as much, as long and from as many places', async () => {
    const { sql, acme, app } = site.platform
    const order = async (limits: Partial<TokenLimits>, scope: string, days = 9) => {
      const { organizationId } = acme
      const owner = { organizationId, deploymentId: null, name: 'CI', createdBy: null }
      const token = await issueStaticToken(sql, { ...owner, ...limits })
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ name: 'by API', scope, days })
      return app.request('/designer/v2/trace-tokens', { method: 'POST', headers, body })
    }
    const settings: Partial<TokenLimits> = { scopes: ['settings'] }
    const expiresAt = new Date(Date.now() + DAY_MS)
    const made = await readObject(await order(settings, 'traces:write'))
    expect(await write(String(made['token']))).toBe(200)
    expect((await order({}, 'traces:read')).status).toBe(201)
    expect((await order(settings, 'traces:read')).status).toBe(403)
    expect((await order({ ...settings, expiresAt }, 'traces:write')).status).toBe(403)
    expect((await order({ scopes: ['read', 'design'] }, 'traces:read')).status).toBe(403)
  })

  it('are limited in number, as revoked ones take memory of the collector', async () => {
    const { sql, rival: tenant } = site.platform
    await sql`
      insert into trace_tokens (organization_id, token_id, name, scope, expires_at)
      select ${tenant.organizationId}, gen_random_uuid(), 'many', 'traces:write', now() + '1 day'
      from generate_series(1, ${TRACE_TOKENS_A_YEAR}::int)`
    const order = { name: 'one more', scope: 'traces:write', days: '1' }
    const refused = await site.post('/trace-tokens', order, rival)
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('has issued 1000 tokens within a year')
    expect(await write(await tokenOf())).toBe(200)
  })

  it('have no page in an installation without a collector', async () => {
    const headers = { cookie: ada.cookie }
    const app = site.platform.appAt(BASE_URL)
    for (const path of ['/send-traces', '/trace-tokens']) {
      const answer = await app.request(path, { headers })
      expect(answer.status).toBe(404)
      expect(await answer.text()).toContain('the trace collector is off')
    }
  })
})
