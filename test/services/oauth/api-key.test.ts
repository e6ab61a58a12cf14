import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../../../services/oauth/start.ts'
import { createLog } from '../../../services/shared/log.ts'
import { freePort } from '../../support/free-port.ts'
import { API_KEY, openPlatform, ENCRYPTION_KEY, PUBLIC_URL } from './platform.ts'
import type { Platform } from './platform.ts'

let platform: Platform
beforeAll(async () => {
  platform = await openPlatform()
})
afterAll(() => platform.close())

const ID = '00000000-0000-4000-8000-000000000000'
const ROUTES = [
  ['GET', '/providers'],
  ['GET', '/connections?organization_id=1'],
  ['POST', '/connections'],
  ['GET', `/connections/${ID}`],
  ['DELETE', `/connections/${ID}`],
  ['POST', `/connections/${ID}/token`],
] as const

/** One request with exactly these header lines. */
async function send(method: string, path: string, headers: readonly string[]) {
  const host = new URL(platform.service.url).host
  const lines = ['host', host, ...headers]
  const outgoing = httpRequest(platform.service.url + path, {
    method,
    headers: lines,
    agent: false,
  })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  response.resume()
  return { status: response.statusCode, challenge: response.headers['www-authenticate'] }
}

describe('the API key', () => {
  it.each<[string, readonly string[]]>([
    ['no header', []],
    ['an empty header', ['authorization', '']],
    ['no scheme', ['authorization', API_KEY]],
    ['another scheme', ['authorization', `Basic ${API_KEY}`]],
    ['a wrong key', ['authorization', `Bearer ${API_KEY}x`]],
    ['a part of the key', ['authorization', `Bearer ${API_KEY.slice(0, -1)}`]],
    ['another case', ['authorization', `Bearer ${API_KEY.toUpperCase()}`]],
    ['an endless key', ['authorization', `Bearer ${'x'.repeat(6000)}`]],
    ['the key twice', ['authorization', `Bearer ${API_KEY}`, 'authorization', `Bearer ${API_KEY}`]],
    [
      'the key after a wrong one',
      ['authorization', 'Bearer x', 'Authorization', `Bearer ${API_KEY}`],
    ],
    ['the key in another header', ['x-api-key', API_KEY]],
  ])('refuses %s at every route', async (_, headers) => {
    for (const [method, path] of ROUTES) {
      const { status, challenge } = await send(method, path, headers)
      expect({ method, path, status }).toEqual({ method, path, status: 401 })
      expect(challenge).toMatch(/^Bearer realm="oauth"/)
    }
  })

  it('opens every route', async () => {
    for (const [method, path] of ROUTES) {
      const { status } = await send(method, path, ['authorization', `bearer ${API_KEY}`])
      expect(status).not.toBe(401)
    }
  })

  it('is in no answer and not in the log', async () => {
    const wrong = 'a-wrong-key-that-nobody-may-read'
    const answer = await platform.call('GET', '/providers', {
      headers: { authorization: `Bearer ${wrong}` },
    })
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const seen = JSON.stringify(answer.body) + platform.lines.join('')
    expect([wrong, API_KEY].filter((key) => seen.includes(key))).toEqual([])
  })
})

describe('the body of POST /connections', () => {
  it.each([
    ['of another type', { 'content-type': 'text/plain' }, '{}', 415],
    ['that is too large', { 'content-type': 'application/json' }, `"${'x'.repeat(20_000)}"`, 413],
    ['that is no JSON', { 'content-type': 'application/json' }, '{', 400],
    ['with a member twice', { 'content-type': 'application/json' }, '{"name":"a","name":"b"}', 400],
  ])('%s is refused', async (_, headers, ...[body, status]) => {
    const response = await fetch(`${platform.service.url}/connections`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${API_KEY}` },
      body,
    })
    expect(response.status).toBe(status)
  })
})

describe('health', () => {
  const log = createLog({ name: 'oauth', level: 'silent' })

  it('needs no key', async () => {
    for (const path of ['/health', '/health/live']) {
      const response = await fetch(platform.service.url + path)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status: 'ok' })
    }
  })

  it('fails without a database, and while the service drains', async () => {
    const environment = {
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await freePort()}/nothing`,
      PORT: '0',
      HOST: '127.0.0.1',
      PLATFORM_OAUTH_API_KEY: API_KEY,
      OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
      OAUTH_PUBLIC_URL: PUBLIC_URL,
    }
    const service = await start(environment, { log, lingerMs: 2000 })
    const health = async (path = '/health') => (await fetch(service.url + path)).status
    expect(await health()).toBe(503)
    expect(await health('/health/live')).toBe(200)
    const path = `/connections/${ID}`
    const answer = await platform.call('GET', path, { at: service })
    expect(answer).toMatchObject({ status: 503, body: { error: 'unavailable' } })
    const page = await fetch(`${service.url}/callback?state=${'A'.repeat(43)}&code=x`)
    expect(page.status).toBe(503)
    expect(await page.text()).toContain('Not connected')
    const stopped = service.stop()
    expect(await health()).toBe(503)
    await stopped
  })
})
