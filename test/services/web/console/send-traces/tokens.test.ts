import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TRACE_TOKENS_A_YEAR } from '../../../../../services/platform/traces/trace-tokens.ts'
import { postTo } from '../../../collector/support/harness.ts'
import { freshId, requestOf, spanOf, toProtobuf } from '../../../collector/support/otlp.ts'
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
    (await (await site.get(`/send-traces${query}`, user)).text()).replace(/\s+/g, ' ')
  const idOf = async (name: string): Promise<number> => {
    const [row] = await site.platform.sql<[{ id: number }]>`
      select id from trace_tokens where name = ${name}`
    return row.id
  }
  const revoke = async (name: string, user = ada): Promise<Response> =>
    site.post(`/send-traces/tokens/${await idOf(name)}/revoke`, {}, user)

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

  it('are refused by the collector once they are revoked, and say so', async () => {
    const token = await tokenOf({ name: 'leaked' })
    const question = await site.get(`/send-traces/tokens/${await idOf('leaked')}/revoke`, ada)
    expect(await question.text()).toContain('Revoke the token leaked?')
    expect(await write(token)).toBe(200)
    const answer = await revoke('leaked')
    expect(answer.headers.get('location')).toBe('/send-traces?notice=trace-token-revoked')
    expect(await write(token)).toBe(401)
    expect(await show(ada, '?q=leaked&notice=trace-token-revoked')).toMatch(
      /The token is revoked\..*leaked.*Revoked/,
    )
    expect((await revoke('leaked')).status).toBe(404)
    expect((await site.platform.audit()).slice(-2)).toMatchObject([
      { action: 'trace_token_issued', targetName: 'leaked', after: { scope: 'traces:write' } },
      { action: 'trace_token_revoked', targetName: 'leaked' },
    ])
  })

  it('are seen and revoked by members of their organization only', async () => {
    const token = await tokenOf({ name: 'ours alone' })
    expect(await show(rival)).not.toContain('ours alone')
    expect(await show(rival, '?q=alone')).toContain('No tokens found')
    const path = `/send-traces/tokens/${await idOf('ours alone')}/revoke`
    expect((await site.get(path, rival)).status).toBe(404)
    expect((await revoke('ours alone', rival)).status).toBe(404)
    expect(await write(token)).toBe(200)
  })

  it('stay as they are while the collector cannot be told', async () => {
    const lost = await openSendTraces()
    const user = await lost.platform.signIn(lost.platform.acme)
    await lost.issue(user)
    await lost.collector.collector.stop()
    const answer = await lost.post('/send-traces/tokens/1/revoke', {}, user)
    expect(answer.status).toBe(503)
    expect(await (await lost.get('/send-traces', user)).text()).toContain('Works')
    await lost.close()
  })

  it('warn a week before they expire', async () => {
    const { sql } = site.platform
    const warning = 'expires within a week'
    expect(await show()).not.toContain(warning)
    await tokenOf({ name: 'ending', days: '6' })
    expect(await show()).toMatch(/1 token expires within a week.*ending.*Expires soon/)
    const past = new Date(Date.now() - DAY_MS)
    await sql`
      update trace_tokens set created_at = ${past} - interval '1 day', expires_at = ${past}
      where name = 'ending'`
    expect(await show(ada, '?q=ending')).toMatch(/ending.*Expired/)
    expect(await show()).not.toContain(warning)
  })

  it.each([
    ['no name', { name: ' ' }, 'Give the token a name'],
    ['a name with a control character', { name: 'a\u0007b' }, 'no control characters'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'at most 100 characters'],
    ['no days', { days: '' }, 'Days must be a whole number from 1 to 365'],
    ['366 days', { days: '366' }, 'Days must be a whole number from 1 to 365 (given: “366”)'],
    ['half a day', { days: '0.5' }, 'Days must be a whole number'],
  ])('need sense: %s', async (_, fields, problem) => {
    const order = { name: 'kept', scope: 'traces:read', days: '9', ...fields }
    const answer = await site.post('/send-traces/tokens', order, ada)
    const page = (await answer.text()).replace(/\s+/g, ' ')
    expect(answer.status).toBe(422)
    expect(page).toContain(problem)
    expect(page).toContain('aria-invalid="true"')
    expect(page).toMatch(/<option value="traces:read" selected ?>/)
  })

  it('need a form of our own', async () => {
    const fields = { name: 'x', scope: 'traces:write', days: '1', csrf_token: 'guessed' }
    expect((await site.post('/send-traces/tokens', fields, ada)).status).toBe(403)
    const path = `/send-traces/tokens/${await idOf('ours alone')}/revoke`
    expect((await site.post(path, { csrf_token: rival.csrfToken }, ada)).status).toBe(403)
    const { app } = site.platform
    expect((await app.request('/send-traces')).status).toBe(303)
  })

  it('are limited in number, as revoked ones take memory of the collector', async () => {
    const { sql, rival: tenant } = site.platform
    await sql`
      insert into trace_tokens (organization_id, token_id, name, scope, expires_at)
      select ${tenant.organizationId}, gen_random_uuid(), 'many', 'traces:write', now() + '1 day'
      from generate_series(1, ${TRACE_TOKENS_A_YEAR}::int)`
    const order = { name: 'one more', scope: 'traces:write', days: '1' }
    const refused = await site.post('/send-traces/tokens', order, rival)
    expect(refused.status).toBe(422)
    expect(await refused.text()).toContain('has issued 1000 tokens within a year')
    expect(await write(await tokenOf())).toBe(200)
  })

  it('have no page in an installation without a collector', async () => {
    const headers = { cookie: ada.cookie }
    const answer = await site.platform.app.request('/send-traces', { headers })
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('the trace collector is off')
  })
})
