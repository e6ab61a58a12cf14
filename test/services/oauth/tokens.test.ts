import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  storeRefreshedTokens,
  takeRefreshLease,
} from '../../../services/platform/connections/oauth-tokens.ts'
import { openPlatform, ENCRYPTION_KEY } from './platform.ts'
import type { Platform } from './platform.ts'

const ALERTS = new URL('../../../services/oauth/observability/alerts.yaml', import.meta.url)

let platform: Platform
beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())

const tokenOf = async (id: string) => String((await platform.token(id)).body['access_token'])
const show = async (id: string) => (await platform.call('GET', `/connections/${id}`)).body

interface Sealed {
  readonly accessToken: Buffer
  readonly refreshToken: Buffer
}

async function sealedOf(id: string): Promise<Sealed> {
  const [row] = await platform.sql<[Sealed]>`
    select access_token, refresh_token from oauth_connections where id = ${id}`
  return row
}

/** Refuses the refresh, as a provider does when a person took the access back. */
const refuseRefresh = () =>
  platform.idp.intercept('/token', (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: 'invalid_grant' }))
  })

describe('an access token', () => {
  it('stays the same until it nears its end', async () => {
    const { id } = await platform.connect('stable')
    const asked = platform.idp.count('/token')
    expect(await tokenOf(id)).toBe(await tokenOf(id))
    expect(platform.idp.count('/token')).toBe(asked)
  })

  it('is refreshed before its end, again and again, as the provider rotates', async () => {
    const { id } = await platform.connect('rotating')
    const seen = new Set([await tokenOf(id)])
    for (let round = 0; round < 3; round += 1) {
      await platform.age(id, 'due')
      seen.add(await tokenOf(id))
    }
    expect(seen.size).toBe(4)
    const { status, scope, refreshed_at: refreshedAt } = await show(id)
    expect({ status, scope }).toEqual({ status: 'connected', scope: 'openid files' })
    expect(refreshedAt).not.toBeNull()
  })

  it('counts on a port of its own, and so do refreshes', async () => {
    const watched = await platform.startService({ METRICS_PORT: '0' })
    const { id } = await platform.connect('counted')
    await platform.token(id, watched)
    await platform.age(id, 'due')
    await platform.token(id, watched)
    await platform.age(id, 'due')
    refuseRefresh()
    await platform.token(id, watched)
    platform.idp.intercept('/token')
    const samples = await (await fetch(`${watched.metricsUrl}/metrics`)).text()
    const counted = [...samples.matchAll(/^oauth_\w+\{result="(\w+)"\} \d+$/gm)].map(
      ([line]) => line,
    )
    expect(counted).toEqual([
      'oauth_tokens_total{result="given"} 2',
      'oauth_tokens_total{result="needs_authorization"} 1',
      'oauth_refreshes_total{result="refreshed"} 1',
      'oauth_refreshes_total{result="refused"} 1',
      'oauth_refreshes_total{result="failed"} 0',
    ])
    const alerts = readFileSync(ALERTS, 'utf8')
    for (const [name] of alerts.matchAll(/\boauth_\w+/g)) expect(samples).toContain(`TYPE ${name} `)
    expect((await fetch(`${watched.url}/metrics`)).status).toBe(404)
  })

  it('is refreshed once for ten callers at two replicas', async () => {
    const { id } = await platform.connect('popular')
    const replica = await platform.startService()
    await platform.token(id, replica)
    await platform.age(id, 'expired')
    platform.idp.intercept('/token', (_, __, pass) => void setTimeout(pass, 300))
    const asked = platform.idp.count('/token')
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        platform.token(id, index % 2 === 0 ? platform.service : replica),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1)
    expect(platform.idp.count('/token')).toBe(asked + 1)
    platform.idp.intercept('/token')
  })

  it('needs a person when the provider refuses the refresh, and then works again', async () => {
    const { id } = await platform.connect('withdrawn')
    await platform.age(id, 'due')
    refuseRefresh()
    const refused = await platform.token(id)
    platform.idp.intercept('/token')
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: 'conflict',
        details: { code: 'needs_authorization', reason: 'refresh_refused' },
      },
    })
    expect(refused.body['message']).toContain('no longer accepts the authorization')
    expect(await show(id)).toMatchObject({
      status: 'needs_authorization',
      status_reason: 'refresh_refused',
    })
    const asked = platform.idp.count('/token')
    expect((await platform.token(id)).status).toBe(409)
    expect(platform.idp.count('/token')).toBe(asked)
    await platform.connect('withdrawn')
    expect((await platform.token(id)).status).toBe(200)
    expect(await show(id)).toMatchObject({ status: 'connected', status_reason: null })
  })

  it('really is dead at the provider once the grant was revoked there', async () => {
    const { id } = await platform.connect('revoked there')
    const body = new URLSearchParams({
      token: await tokenOf(id),
      client_id: 'crews',
    })
    const credentials = Buffer.from('crews:the-secret-of-the-client').toString('base64')
    const authorization = `Basic ${credentials}`
    const headers = { authorization }
    const revoked = await fetch(`${platform.idp.issuer}/token/revocation`, {
      method: 'POST',
      body,
      headers,
    })
    expect(revoked.status).toBe(200)
    await platform.age(id, 'expired')
    expect(await platform.token(id)).toMatchObject({ status: 409 })
  })

  it('is handed out to its end when there is no refresh token', async () => {
    const { id } = await platform.connect('one hour', 'plain')
    await platform.age(id, 'due')
    expect((await platform.token(id)).status).toBe(200)
    await platform.age(id, 'expired')
    expect((await platform.token(id)).body).toMatchObject({
      status: 409,
      details: { code: 'needs_authorization', reason: 'no_refresh_token' },
    })
  })

  it('without an end is handed out for ever', async () => {
    const { id } = await platform.connect('endless')
    await platform.sql`
      update oauth_connections set expires_at = null, refresh_at = null where id = ${id}`
    expect(await platform.token(id)).toMatchObject({ status: 200, body: { expires_at: null } })
  })

  it('is handed out while the provider is unavailable, and refused when it has ended', async () => {
    const { id } = await platform.connect('bridged')
    const token = await tokenOf(id)
    platform.idp.intercept('/token', (_, response) => void response.writeHead(503).end())
    await platform.age(id, 'due')
    expect(await tokenOf(id)).toBe(token)
    await platform.age(id, 'expired')
    expect(await platform.token(id)).toMatchObject({ status: 502, body: { error: 'bad_gateway' } })
    platform.idp.intercept('/token')
    expect((await platform.token(id)).status).toBe(200)
    expect(await tokenOf(id)).not.toBe(token)
  })
})

describe('the refresh lease', () => {
  it('goes to one, ends by itself, and protects nothing any more after that', async () => {
    const { id } = await platform.connect('leased')
    expect(await takeRefreshLease(platform.sql, id)).toBeUndefined()
    await platform.age(id, 'due')
    const lost = await takeRefreshLease(platform.sql, id)
    expect(lost).toBeDefined()
    expect(await takeRefreshLease(platform.sql, id)).toBeUndefined()
    await platform.sql`
      update oauth_connections set refresh_lease_expires_at = now() where id = ${id}`
    const before = await sealedOf(id)
    expect((await platform.token(id)).status).toBe(200)
    const after = await sealedOf(id)
    expect(after.accessToken.equals(before.accessToken)).toBe(false)
    const late = { ...before, tokenType: 'Bearer', scope: null, expiresInSeconds: 60 }
    if (lost) expect(await storeRefreshedTokens(platform.sql, lost, late)).toBe(false)
    expect(await sealedOf(id)).toEqual(after)
  })

  it('makes others wait for the result', async () => {
    const { id } = await platform.connect('waited for')
    await platform.age(id, 'expired')
    const lease = await takeRefreshLease(platform.sql, id)
    const waiting = platform.token(id)
    const sealed = await sealedOf(id)
    const tokens = { ...sealed, tokenType: 'Bearer', scope: 'new', expiresInSeconds: 3600 }
    const first = await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 150))])
    expect(first).toBeUndefined()
    if (lease) await storeRefreshedTokens(platform.sql, lease, tokens)
    expect(await waiting).toMatchObject({ status: 200, body: { scope: 'new' } })
  })

  it('revokes what arrives for a connection that was deleted during the refresh', async () => {
    const { id } = await platform.connect('deleted meanwhile')
    await platform.age(id, 'expired')
    const issued = {
      access_token: 'late-access',
      refresh_token: 'late-refresh',
      token_type: 'Bearer',
    }
    const revoked: string[] = []
    platform.idp.intercept('/token/revocation', (request, response) => {
      request.on('data', (chunk: Buffer) => revoked.push(chunk.toString()))
      request.on('end', () => void response.writeHead(200).end())
    })
    platform.idp.intercept('/token', (_, response) => {
      void platform.call('DELETE', `/connections/${id}`).then(() => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(issued))
      })
    })
    expect((await platform.token(id)).status).toBe(404)
    platform.idp.intercept('/token')
    platform.idp.intercept('/token/revocation')
    expect(revoked).toHaveLength(2)
    expect(revoked[1]).toContain('token=late-refresh')
  })
})

describe('tokens at rest', () => {
  const NEW_KEY = 'a-new-encryption-key-of-at-least-thirty-two-chars'

  it('move to a new key as they are used', async () => {
    const { id } = await platform.connect('rotated')
    const token = await tokenOf(id)
    const before = await sealedOf(id)
    const both = { OAUTH_ENCRYPTION_KEY: NEW_KEY, OAUTH_ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY }
    const during = await platform.startService(both)
    expect((await platform.token(id, during)).body['access_token']).toBe(token)
    const after = await sealedOf(id)
    expect(after.accessToken.equals(before.accessToken)).toBe(false)
    expect(after.refreshToken.equals(before.refreshToken)).toBe(false)
    const later = await platform.startService({ OAUTH_ENCRYPTION_KEY: NEW_KEY })
    expect((await platform.token(id, later)).body['access_token']).toBe(token)
    await platform.age(id, 'expired')
    expect((await platform.token(id, later)).status).toBe(200)
    expect(await platform.token(id)).toMatchObject({
      status: 500,
      body: { details: { code: 'tokens_unreadable' } },
    })
  })

  it.each(['header', 'nonce', 'text', 'tag'])(
    'are refused when their %s was changed',
    async (part) => {
      const { id } = await platform.connect(`tampered ${part}`)
      const { accessToken } = await sealedOf(id)
      const at = { header: 3, nonce: 12, text: 25, tag: accessToken.length - 1 }[part] ?? 0
      const changed = Buffer.from(accessToken)
      changed[at] = (changed[at] ?? 0) ^ 1
      await platform.sql`update oauth_connections set access_token = ${changed} where id = ${id}`
      const refused = await platform.token(id)
      expect(refused).toMatchObject({
        status: 500,
        body: { details: { code: 'tokens_unreadable' } },
      })
      expect(await show(id)).toMatchObject({ status: 'connected' })
      expect((await platform.call('DELETE', `/connections/${id}`)).body).toMatchObject({
        deleted: true,
        revocation: 'failed',
      })
    },
  )

  it('do not open at another connection or in another column', async () => {
    const mine = await platform.connect('mine')
    const theirs = await platform.connect('theirs')
    const { accessToken, refreshToken } = await sealedOf(theirs.id)
    for (const moved of [accessToken, refreshToken]) {
      await platform.sql`update oauth_connections set access_token = ${moved} where id = ${mine.id}`
      expect((await platform.token(mine.id)).status).toBe(500)
    }
    const { refreshToken: own } = await sealedOf(mine.id)
    await platform.sql`update oauth_connections set access_token = ${own} where id = ${mine.id}`
    expect((await platform.token(mine.id)).status).toBe(500)
  })
})

describe('the database', () => {
  it.each([
    [
      'a connection without a token',
      'update oauth_connections set access_token = null, token_type = null, ' +
        "refresh_token = null, expires_at = null, refresh_at = null where name = 'kept'",
    ],
    ['a token in clear', "update oauth_connections set access_token = 'gho_x' where name = 'kept'"],
    [
      'a refresh after the end',
      "update oauth_connections set refresh_at = expires_at + interval '1s' where name = 'kept'",
    ],
    [
      'half a lease',
      "update oauth_connections set refresh_lease_id = gen_random_uuid() where name = 'kept'",
    ],
    ['an unknown status', "update oauth_connections set status = 'fine' where name = 'kept'"],
    [
      'a need without a reason',
      "update oauth_connections set status = 'needs_authorization', access_token = null, " +
        'token_type = null, refresh_token = null, expires_at = null, refresh_at = null ' +
        "where name = 'kept'",
    ],
  ])('refuses %s', async (_, statement) => {
    await platform.sql`delete from oauth_connections where name = 'kept'`
    await platform.connect('kept')
    await expect(platform.sql.unsafe(statement)).rejects.toMatchObject({ code: '23514' })
  })
})
