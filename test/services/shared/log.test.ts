import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { createLog, requestLog } from '../../../services/shared/log.ts'
import type { RequestVariables } from '../../../services/shared/log.ts'

function collect() {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  return { lines, log: createLog({ name: 'web', level: 'debug', destination }) }
}

describe('createLog', () => {
  it('replaces credentials by name, at the top and one level down', () => {
    const { lines, log } = collect()
    log.info(
      { authorization: 'Bearer x', headers: { cookie: 'y', accept: 'z' }, token: 't' },
      'hello',
    )
    expect(lines).toMatchObject([
      {
        authorization: '[redacted]',
        headers: { cookie: '[redacted]', accept: 'z' },
        token: '[redacted]',
        service: 'web',
        level: 'info',
      },
    ])
  })

  it('replaces them in errors and in what a child always tells, and nothing else', () => {
    const { lines, log } = collect()
    const error = Object.assign(new TypeError('broken'), { token: 't', status: 5 })
    const fields = { at: new Date(0), url: new URL('http://a.test/'), secret: { token: 't' } }
    log.child({ password: 'p' }).error({ err: error, ...fields }, 'no')
    log.error(error)
    const err = { type: 'TypeError', message: 'broken', token: '[redacted]', status: 5 }
    expect(lines).toMatchObject([
      {
        err,
        password: '[redacted]',
        secret: '[redacted]',
        at: '1970-01-01T00:00:00.000Z',
        url: 'http://a.test/',
      },
      { err, msg: 'broken' },
    ])
    expect(error.token).toBe('t')
    expect(fields.secret.token).toBe('t')
  })
})

describe('requestLog', () => {
  function app() {
    const { lines, log } = collect()
    const hono = new Hono<{ Variables: RequestVariables }>()
    hono.use(requestLog(log))
    hono.get('/items/:id', (c) => {
      c.get('wide')['user_id'] = 7
      return c.text('ok')
    })
    hono.get('/health', (c) => c.text('ok'))
    hono.get('/health/ready', (c) => c.text('ok'))
    hono.get('/draining', (c) => {
      c.var.wide['draining'] = true
      return c.text('no', 503)
    })
    hono.get('/broken', (c) => c.text('no', 503))
    // As an app has it that refuses some addresses after its first routes.
    hono.use((_, next) => next())
    return { lines, hono }
  }

  it('leaves one wide line per request, with the route and what the handler added', async () => {
    const { lines, hono } = app()
    await hono.request('/items/5?secret=1', { headers: { 'x-request-id': 'abcdefgh' } })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      request_id: 'abcdefgh',
      method: 'GET',
      route: '/items/:id',
      status: 200,
      user_id: 7,
      level: 'info',
    })
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  it('makes a request id of its own when the given one is not fit for a log', async () => {
    const { lines, hono } = app()
    await hono.request('/items/5', { headers: { 'x-request-id': 'a b\tc"{}<>' } })
    expect(lines[0]?.['request_id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('writes good probes at debug and failures at error', async () => {
    const { lines, hono } = app()
    await hono.request('/health')
    await hono.request('/health/ready')
    await hono.request('/broken')
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'error'])
  })

  it('writes at debug that a pod about to end says so to its probes', async () => {
    const { lines, hono } = app()
    await hono.request('/draining')
    expect(lines.map(({ level }) => level)).toEqual(['debug'])
  })
})
