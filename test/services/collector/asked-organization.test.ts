import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CollectorScope } from '../../../services/shared/collector-token.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { mountedRoutes, readToEvent } from './support/routes.ts'
import type { Route } from './support/routes.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

/** Runs of a property; `FUZZ_RUNS=500` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 3)

describe('the organization that is asked for', () => {
  const traceId = freshId() + freshId()
  const spanId = freshId()
  const start = Date.now() - 60_000
  let harness: Harness
  let routes: readonly Route[]
  beforeAll(async () => {
    harness = await createHarness()
    routes = await mountedRoutes(harness.databaseUrl)
    for (const organization of [A, B, undefined]) {
      const span = spanOf({
        traceId,
        spanId,
        name: `work of ${organization ?? 'the platform'}`,
        startTimeUnixNano: nanos(start),
        endTimeUnixNano: nanos(start + 5),
        attributes: [
          textAttribute('gen_ai.operation.name', 'chat'),
          textAttribute('session.id', `session of ${organization ?? 'the platform'}`),
        ],
      })
      await tenantOf(harness, organization).send(toProtobuf(requestOf(span)))
    }
    await harness.rolledUp()
  })
  afterAll(() => harness.stop())

  /** What a question needs beside its path. */
  const NEEDED: Readonly<Record<string, string>> = {
    '/traces/:id/search': 'q=work',
    '/export': `from=2020-01-01&until=${new Date(start + 1000).toISOString()}`,
    '/usage': 'by=organization',
  }
  const urlOf = ({ path }: Route, organization: string | undefined): string => {
    const named =
      organization === undefined ? '' : `organization=${encodeURIComponent(organization)}`
    const query = [NEEDED[path] ?? '', named].filter((part) => part !== '').join('&')
    const place = path.replace(':id', traceId).replace(':span', spanId)
    return `${harness.collector.url}/api${place}?${query}`
  }
  const SCOPES: Readonly<Record<string, CollectorScope>> = {
    'DELETE /traces/:id': 'traces:delete',
    'DELETE /mentions': 'traces:delete',
    'PUT /holds/:id': 'holds:write',
    'DELETE /holds/:id': 'holds:write',
    'PUT /forwarding': 'forwards:write',
    'PUT /prices': 'prices:write',
    'PUT /revoked-tokens/:id': 'tokens:revoke',
  }
  const scopeOf = ({ method, path }: Route): CollectorScope =>
    SCOPES[`${method} ${path}`] ?? 'traces:read'
  /** To its end, or to the first event of a tail, which has none. */
  const ask = async (
    route: Route,
    { own, named }: { own?: string | undefined; named?: string | undefined } = {},
  ): Promise<{ status: number; text: string }> => {
    const abort = new AbortController()
    const scopes = [scopeOf(route)] as const
    const response = await fetch(urlOf(route, named), {
      method: route.method,
      headers: {
        authorization: await authorizationOf({ organization: own, scopes }),
        'last-event-id': '0',
      },
      signal: abort.signal,
    })
    const text = await readToEvent(response)
    abort.abort()
    return { status: response.status, text: text.replaceAll(/"request_id":"[^"]*"/g, '') }
  }

  it('is known to every route that there is', () => {
    const known = routes.map(({ method, path }) => `${method} ${path}`)
    expect(known.length).toBeGreaterThan(10)
    expect(known).toContain('GET /tail')
    expect(known).toContain('DELETE /traces/:id')
  })

  it('can only be that of the token, on every route', async () => {
    for (const route of routes) {
      const { status, text } = await ask(route, { own: A, named: B })
      expect([route.path, status]).toEqual([route.path, 400])
      expect(text).toContain('organization must be that of the token')
    }
  })

  it('is of no use without the scope, on every route', async () => {
    for (const route of routes) {
      const { method, path } = route
      const other = scopeOf(route) === 'traces:read' ? 'traces:delete' : 'traces:read'
      const claims = { organization: A, scopes: ['traces:write', other] as const }
      const headers = { authorization: await authorizationOf(claims) }
      const response = await fetch(urlOf(route, A), { method, headers })
      expect([path, response.status]).toEqual([path, 403])
      await response.arrayBuffer()
    }
  })

  it.each([['a\nb'], ['x'.repeat(65)]])('is refused when it is no name: %j', async (named) => {
    for (const route of routes) {
      const { status, text } = await ask(route, { named })
      expect([route.path, status]).toEqual([route.path, 400])
      expect(text).toContain('organization must be the name of one')
    }
  })

  it('makes the platform see what that one sees, to the byte', async () => {
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const seen = await ask(route, { own: B, named: B })
      expect([route.path, seen.status]).toEqual([route.path, 200])
      for (const as of [{ own: B }, { named: B }]) {
        expect([route.path, await ask(route, as)]).toEqual([route.path, seen])
      }
    }
  }, 180_000)

  it('is the platform itself when it is empty, and all without it', async () => {
    const counted = ['/traces', '/traces/totals', '/traces/histogram', '/usage', '/sessions']
    const long = ['/tail', '/export']
    for (const route of routes.filter(({ method }) => method === 'GET')) {
      const own = await ask(route, { named: '' })
      expect([route.path, own.status]).toEqual([route.path, 200])
      expect(own.text).not.toMatch(new RegExp(`${A}|${B}`))
      const all = await ask(route)
      expect([route.path, all.text === own.text]).toEqual([
        route.path,
        ![...counted, ...long].includes(route.path),
      ])
    }
  })

  it('tells of every one that has the same trace id', async () => {
    const tail = routes.find(({ path }) => path === '/tail')
    const { text } = await ask(tail ?? { method: '', path: '' })
    for (const name of [A, B, 'the platform']) expect(text).toContain(`work of ${name}`)
  })

  it('says whose trace is deleted', async () => {
    const remove = routes.find(({ method, path }) => method === 'DELETE' && path === '/traces/:id')
    const { status, text } = await ask(remove ?? { method: '', path: '' }, { named: B })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ organization: B, spans: 1 })
  })

  it('leaves the pages of lists whole where several have the same trace ids', async () => {
    const trace = fc.record({
      id: fc.nat(2),
      organization: fc.constantFrom(A, B, `${A}-2`, undefined),
      later: fc.nat(1),
    })
    const lists = ['traces?sort=newest', 'traces?sort=oldest', 'traces?sort=duration', 'sessions?']
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(trace, { minLength: 2, maxLength: 8, selector: keyOf }),
        fc.integer({ min: 1, max: 3 }),
        async (traces, limit) => {
          const crew = `crew-${run++}`
          for (const { id, organization, later } of traces) {
            const span = spanOf({
              traceId: `${id + 1}${run}`.padStart(32, '0'),
              startTimeUnixNano: nanos(start + later),
              endTimeUnixNano: nanos(start + later + 5),
              attributes: [
                textAttribute('crew_id', crew),
                textAttribute('session.id', `${crew}-${id}`),
              ],
            })
            await tenantOf(harness, organization).send(toProtobuf(requestOf(span)))
          }
          await harness.rolledUp()
          for (const list of lists) {
            const seen = await readPages(`/api/${list}&crew=${crew}&limit=${limit}`)
            expect(new Set(seen).size).toBe(seen.length)
            expect(seen).toHaveLength(traces.length)
          }
        },
      ),
      { numRuns: RUNS },
    )
  }, 180_000)

  const readPages = async (path: string): Promise<string[]> => {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const next: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { text } = await tenantOf(harness).ask(`${path}${next}`)
      const { traces, sessions, next_cursor } = JSON.parse(text)
      for (const one of traces ?? sessions) {
        seen.push(`${one.trace_id ?? one.session_id} ${one.organization}`)
      }
      cursor = next_cursor
    }
    return seen
  }
})

const keyOf = ({ id, organization }: { id: number; organization: string | undefined }): string =>
  `${id} ${organization}`
