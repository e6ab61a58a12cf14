import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/serve.ts'
import { start } from '../../../services/web/start.ts'
import { createWorld, environment } from './world.ts'
import type { World } from './world.ts'

let world: World
let service: Service
let token: string
let api: string

beforeAll(async () => {
  world = await createWorld()
  token = await world.issueToken(world.acme)
  const log = createLog({ name: 'web', level: 'silent' })
  service = await start(environment(world.url), { log })
  api = `/platform/api/v1/crew/${world.acme.research.automationId}`
})

afterAll(async () => {
  await service.stop()
  await world.close()
})

/** Sends bytes as they are, and resolves to all that comes back until the server closes. */
async function exchange(lines: readonly string[], body = ''): Promise<string> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  // A server that answers early may reset the rest of what is sent.
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  return text(socket)
}

const request = (line: string, ...headers: string[]) => [
  `${line} HTTP/1.1`,
  'Host: platform.test',
  'Connection: close',
  ...headers,
]

const statusOf = (answer: string): string => answer.slice(9, 12)

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
  const masked = (answer: string): string => answer.replace(/^Date: .*$/im, 'Date: -')

  it.each(METHODS)('is the same bytes for %s, whatever the path', async (method) => {
    const answers = await Promise.all(
      PATHS.map(async (path) => masked(await exchange(request(`${method} ${path}`)))),
    )
    expect(statusOf(answers[0] ?? '')).toBe('404')
    for (const answer of answers) expect(answer).toBe(answers[0])
  })

  it('does not depend on who asks, and only HTML or JSON on what is wished for', async () => {
    const { cookie } = await world.signIn(world.acme)
    const asked = (...headers: string[]) => exchange(request('GET /health/debug', ...headers))
    const plain = masked(await asked())
    expect(masked(await asked(`Cookie: ${cookie}`))).toBe(plain)
    expect(masked(await asked(`Authorization: Bearer ${token}`))).toBe(plain)
    expect(masked(await asked('X-Request-Id: 12345678'))).toBe(plain)
    expect(masked(await asked('X-Platform-Debug-Token: x'))).toBe(plain)
    const page = masked(await asked('Accept: text/html'))
    expect(page).toContain('<h1>Not found</h1>')
    expect(masked(await exchange(request('GET /nothing', 'Accept: text/html')))).toBe(page)
  })
})

describe('the Authorization header on the wire (SPEC 5.2)', () => {
  const inputs = (...headers: string[]) => exchange(request(`GET ${api}/inputs`, ...headers))

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
    const answer = await exchange(
      request(
        `POST ${api}/kickoff`,
        'Authorization: Bearer wrong',
        'Content-Type: application/json',
        'Content-Length: 100000000',
      ),
      '{',
    )
    expect(statusOf(answer)).toBe('401')
    expect(answer).toMatch(/^www-authenticate: Bearer realm="platform", error="invalid_token"\r$/im)
  })
})

describe('the size of a kickoff on the wire (SPEC 4.4)', () => {
  const post = (header: string) =>
    request(
      `POST ${api}/kickoff`,
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      header,
    )
  const chunk = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`

  it('is counted when it comes in chunks without a length', async () => {
    const chunks = Array.from({ length: 40 }, () => chunk('x'.repeat(10_000)))
    const answer = await exchange(post('Transfer-Encoding: chunked'), `${chunks.join('')}0\r\n\r\n`)
    expect(statusOf(answer)).toBe('413')
    expect(answer).toContain('"max_bytes":262144')
  })

  it('is refused at once when the announced length is too large', async () => {
    expect(statusOf(await exchange(post('Content-Length: 262145')))).toBe('413')
  })

  it('is no matter for a small body in chunks', async () => {
    const body = chunk('{"inputs":') + chunk('{"topic":"x"}}')
    const answer = await exchange(post('Transfer-Encoding: chunked'), `${body}0\r\n\r\n`)
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
})

describe('stopping', () => {
  it('finishes what is open and closes the pools', async () => {
    const log = createLog({ name: 'web', level: 'silent' })
    const stopping = await start(environment(world.url), { log })
    const open = fetch(`${stopping.url}/sign-in`)
    await fetch(`${stopping.url}/health`)
    await stopping.stop()
    expect((await open).status).toBe(200)
    await expect(fetch(`${stopping.url}/health`)).rejects.toThrow()
  })

  it('is clean when the port is taken', async () => {
    const port = new URL(service.url).port
    await expect(start({ ...environment(world.url), PORT: port })).rejects.toMatchObject({
      code: 'invalid_configuration',
    })
  })
})
