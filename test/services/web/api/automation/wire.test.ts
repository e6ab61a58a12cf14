import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start } from '../../../../../services/web/start.ts'
import { exchange, requestLines, statusOf, withoutDate } from '../../../../support/raw-http.ts'
import { openPlatform, environment } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let service: Service
let token: string
let api: string

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  const log = createLog({ name: 'web', level: 'silent' })
  service = await start(environment(platform.url), { log })
  api = `/platform/api/v1/crew/${platform.acme.research.automationId}`
})

afterAll(async () => {
  await service.stop()
  await platform.close()
})

const send = (lines: readonly string[], body?: string) => exchange(service.url, lines, body)

describe('the one answer for what is not there (SPEC 4.1, 5.1)', () => {
  const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']
  const PATHS = [
    '/nothing',
    '/health/debug',
    '/health/debug/',
    '/health/live/x',
    '/admin/platform_health',
    '/designer/v2',
    '/assets/console.css',
    '/platform/api/v1/crew',
    '/a%00b',
    '/%ff',
    '//health',
  ]

  it.each(METHODS)('is the same bytes for %s, whatever the path', async (method) => {
    const answers = await Promise.all(
      PATHS.map(async (path) => withoutDate(await send(requestLines(`${method} ${path}`)))),
    )
    expect(statusOf(answers[0] ?? '')).toBe('404')
    for (const answer of answers) expect(answer).toBe(answers[0])
  })

  it('does not depend on who asks, and only HTML or JSON on what is wished for', async () => {
    const { cookie } = await platform.signIn(platform.acme)
    const asked = (...headers: string[]) => send(requestLines('GET /health/debug', ...headers))
    const plain = withoutDate(await asked())
    expect(withoutDate(await asked(`Cookie: ${cookie}`))).toBe(plain)
    expect(withoutDate(await asked(`Authorization: Bearer ${token}`))).toBe(plain)
    expect(withoutDate(await asked('X-Request-Id: 12345678'))).toBe(plain)
    expect(withoutDate(await asked('X-Platform-Debug-Token: x'))).toBe(plain)
    const page = withoutDate(await asked('Accept: text/html'))
    expect(page).toContain('<h1>Not found</h1>')
    expect(withoutDate(await send(requestLines('GET /nothing', 'Accept: text/html')))).toBe(page)
  })
})

describe('the Authorization header on the wire (SPEC 5.2)', () => {
  const inputs = (...headers: string[]) => send(requestLines(`GET ${api}/inputs`, ...headers))

  it('is accepted once and refused twice, however it is doubled', async () => {
    const good = `Authorization: Bearer ${token}`
    expect(statusOf(await inputs(good))).toBe('200')
    expect(statusOf(await inputs(good, good))).toBe('401')
    expect(statusOf(await inputs(good, 'authorization: Basic eDp5'))).toBe('401')
    expect(statusOf(await inputs('AUTHORIZATION: Basic eDp5', good))).toBe('401')
    expect(statusOf(await inputs(good, 'Authorization:'))).toBe('401')
    expect(statusOf(await inputs('Authorization:', good))).toBe('401')
    expect(statusOf(await inputs(`Authorization: Bearer`, ` ${token}`))).not.toBe('200')
  })

  it('is answered before the body arrives', async () => {
    const answer = await send(
      requestLines(
        `POST ${api}/kickoff`,
        'Authorization: Bearer wrong',
        'Content-Type: application/json',
        'Content-Length: 100000000',
      ),
      '{',
    )
    expect(statusOf(answer)).toBe('401')
    expect(answer).toMatch(
      new RegExp(
        '^www-authenticate: Bearer realm="platform", error="invalid_token", ' +
          'resource_metadata="[^"]+"\r$',
        'im',
      ),
    )
  })
})

describe('the size of a kickoff on the wire (SPEC 4.4)', () => {
  const post = (header: string) =>
    requestLines(
      `POST ${api}/kickoff`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      header,
    )
  const chunk = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`

  it('is counted when it comes in chunks without a length', async () => {
    const chunks = Array.from({ length: 40 }, () => chunk('x'.repeat(10_000)))
    const answer = await send(post('Transfer-Encoding: chunked'), `${chunks.join('')}0\r\n\r\n`)
    expect(statusOf(answer)).toBe('413')
    expect(answer).toContain('"max_bytes":262144')
  })

  it('is refused at once when the announced length is too large', async () => {
    expect(statusOf(await send(post('Content-Length: 262145')))).toBe('413')
  })

  it('is no matter for a small body in chunks', async () => {
    const body = chunk('{"inputs":') + chunk('{"topic":"x"}}')
    const answer = await send(post('Transfer-Encoding: chunked'), `${body}0\r\n\r\n`)
    expect(statusOf(answer)).toBe('202')
  })
})

describe('the headers of every answer', () => {
  it('forbid scripts, frames, sniffing and caching, on pages, API and errors alike', async () => {
    for (const path of ['/sign-in', '/nothing', '/health', '/', `${api}/inputs`]) {
      const { headers } = await fetch(service.url + path, { redirect: 'manual' })
      const csp = headers.get('content-security-policy') ?? ''
      expect(csp).toContain("default-src 'none'")
      expect(csp).toContain("frame-ancestors 'none'")
      expect(csp).not.toContain('unsafe')
      expect(headers.get('permissions-policy')).toMatch(/^accelerometer=\(\), camera=\(\)/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('same-origin')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.has('x-powered-by')).toBe(false)
    }
  })

  it('let browsers keep the stylesheet, whose address changes with its content', async () => {
    const page = await (await fetch(`${service.url}/sign-in`)).text()
    const [path = ''] = /\/assets\/console-[0-9a-f]{12}\.css/.exec(page) ?? []
    const { status, headers } = await fetch(service.url + path)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/css; charset=utf-8')
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(page).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
  })

  it('let them keep the font, which the stylesheet names and the policy allows', async () => {
    const answer = await fetch(`${service.url}/sign-in`)
    expect(answer.headers.get('content-security-policy')).toContain("font-src 'self'")
    const page = await answer.text()
    const [path = ''] = /\/assets\/inter-latin-[0-9a-f]{12}\.woff2/.exec(page) ?? []
    const [styles = ''] = /\/assets\/console-\w+\.css/.exec(page) ?? []
    expect(await (await fetch(service.url + styles)).text()).toContain(`url("${path}")`)
    const font = await fetch(service.url + path)
    expect(font.headers.get('content-type')).toBe('font/woff2')
    expect(font.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(
      Buffer.from(await font.arrayBuffer())
        .subarray(0, 4)
        .toString(),
    ).toBe('wOF2')
  })
})

describe('stopping', () => {
  it('finishes what is open and closes the pools', async () => {
    const log = createLog({ name: 'web', level: 'silent' })
    const stopping = await start(environment(platform.url), { log })
    const open = fetch(`${stopping.url}/sign-in`)
    await fetch(`${stopping.url}/health`)
    await stopping.stop()
    expect((await open).status).toBe(200)
    await expect(fetch(`${stopping.url}/health`)).rejects.toThrow()
  })

  it('is clean when the port is taken', async () => {
    const port = new URL(service.url).port
    await expect(start({ ...environment(platform.url), PORT: port })).rejects.toMatchObject({
      code: 'invalid_configuration',
    })
  })
})
