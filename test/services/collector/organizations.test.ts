import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressUrl } from '../../support/address-url.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { mountedRoutes, readToEvent } from './support/routes.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'
import type { Tenant } from './support/tokens.ts'

/** Runs of a property; `FUZZ_RUNS=500` is the long form. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 3)
const NOW = Date.now() - 60_000

/** A trace of an agent and two calls of a model. */
function traceOf(traceId: string): OtlpSpan[] {
  const at = (ms: number, given: OtlpSpan): OtlpSpan =>
    spanOf({
      traceId,
      startTimeUnixNano: nanos(NOW + ms),
      endTimeUnixNano: nanos(NOW + ms + 500),
      ...given,
    })
  const root = at(0, { name: 'root', attributes: [textAttribute('crew_id', 'crew')] })
  const call = (ms: number): OtlpSpan =>
    at(ms, {
      name: 'call',
      parentSpanId: root.spanId ?? '',
      attributes: [
        textAttribute('gen_ai.operation.name', 'chat'),
        textAttribute('gen_ai.request.model', 'model-a'),
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '7' } },
        textAttribute('input.value', 'the okapi of A'),
      ],
    })
  return [root, call(10), call(20)]
}

const bodyOf = (...spans: OtlpSpan[]): Buffer => toProtobuf(requestOf(...spans))

describe('organizations', () => {
  let harness: Harness
  let a: Tenant
  let b: Tenant
  let platform: Tenant
  beforeAll(async () => {
    harness = await createHarness()
    a = tenantOf(harness, A)
    b = tenantOf(harness, B)
    platform = tenantOf(harness)
  })
  afterAll(() => harness.stop())

  const countOf = async (traceId: string): Promise<number> => {
    const rows = await harness.sql`select from spans where trace_id = ${traceId}::uuid`
    return rows.length
  }
  const ids = (): string => freshId() + freshId()
  const idOf = ({ spanId = '' }: OtlpSpan | undefined = {}): string => spanId

  it('store the same ids beside each other, and each span once', async () => {
    const spans = traceOf(ids())
    const traceId = spans[0]?.traceId ?? ''
    for (const tenant of [a, b, platform, a, b, platform]) await tenant.send(bodyOf(...spans))
    expect(await countOf(traceId)).toBe(9)
    await Promise.all([a, b, a, b].map((tenant) => tenant.send(bodyOf(...spans.toReversed()))))
    expect(await countOf(traceId)).toBe(9)
  })

  it('share neither a resource nor a scope', async () => {
    await a.send(bodyOf(spanOf()))
    await b.send(bodyOf(spanOf()))
    for (const table of ['resources', 'scopes']) {
      const rows = await harness.sql`
        select organization from ${harness.sql(table)} where organization in (${A}, ${B})
        order by organization`
      expect(rows).toEqual([{ organization: A }, { organization: B }])
    }
  })

  it('read what is theirs, and the platform its own first', async () => {
    const traceId = ids()
    const named = (name: string): Buffer => bodyOf(spanOf({ traceId, name }))
    await b.send(named('of-b'))
    const name = async (tenant: Tenant): Promise<unknown> => {
      const { status, text } = await tenant.ask(`/api/traces/${traceId}?view=summary`)
      return status === 200 ? JSON.parse(text).name : status
    }
    expect([await name(a), await name(b), await name(platform)]).toEqual([404, 'of-b', 'of-b'])
    await a.send(named('of-a'))
    expect([await name(a), await name(b), await name(platform)]).toEqual(['of-a', 'of-b', 'of-a'])
    await platform.send(named('own'))
    expect([await name(a), await name(b), await name(platform)]).toEqual(['of-a', 'of-b', 'own'])
    const document = await platform.ask(`/api/traces/${traceId}`)
    expect(document.text).toContain('"own"')
    expect(document.text).not.toContain('"of-a"')
    const namesIn = async (tenant: Tenant): Promise<unknown[]> => {
      const { text } = await tenant.ask(`/api/traces/${traceId}?view=skeleton`)
      const { columns, spans } = JSON.parse(text) as { columns: string[]; spans: unknown[][] }
      return spans.map((values) => values[columns.indexOf('name')])
    }
    const seen = await Promise.all([a, b, platform].map(namesIn))
    expect(seen).toEqual([['of-a'], ['of-b'], ['own']])
  })

  it('have their spans told apart in every day, also in one that comes late', async () => {
    const late = NOW - 5 * 86_400_000
    const times = { startTimeUnixNano: nanos(late), endTimeUnixNano: nanos(late + 1) }
    await a.send(bodyOf(spanOf(times)))
    const indexes = await harness.sql`
      select from pg_inherits where inhparent = 'spans_identity'::regclass`
    const days = await harness.sql`select from pg_inherits where inhparent = 'spans'::regclass`
    expect(days.length).toBeGreaterThan(5)
    expect(indexes.length).toBe(days.length)
  })

  it('stand between an older program and the loss of spans', async () => {
    const required =
      'start_time, trace_id, span_id, resource_id, scope_id, start_ns, kind, status, llm_call, name'
    const values = `now(), '${ids()}'::uuid, 1, 1, 1, 0, 0, 0, false, 'old'`
    const insert = (more: string, value: string) =>
      harness.sql.unsafe(`insert into spans (${required}${more}) values (${values}${value})`)
    // Neither is a code for which a row is rejected: such a program keeps it and tries again.
    await expect(insert(', organization', ', null')).rejects.toMatchObject({ code: '55000' })
    const merge = insert('', `) on conflict (start_time, trace_id, span_id) do nothing --`)
    await expect(merge).rejects.toMatchObject({ code: '42P10' })
    await insert('', '')
    const rows = await harness.sql`select organization from spans where name = 'old'`
    expect(rows).toEqual([{ organization: '' }])
  })

  it('keep the reason for a refused row to themselves', async () => {
    await harness.sql`alter table spans add constraint tasty check (name not like 'poison%')`
    const traceId = ids()
    await expect(a.send(bodyOf(spanOf({ traceId, name: 'poison' })))).rejects.toThrow()
    const rows = await harness.sql`
      select organization from span_rejects where trace_id = ${traceId}::uuid`
    expect(rows).toEqual([{ organization: A }])
  })

  describe('whatever another one does', () => {
    let spans: OtlpSpan[]
    let paths: string[]
    let before: string[]
    beforeAll(async () => {
      const traceId = ids()
      spans = traceOf(traceId)
      await a.send(bodyOf(...spans))
      await harness.rolledUp()
      await harness.extracted()
      paths = [
        `/api/traces/${traceId}`,
        `/api/traces/${traceId}?view=summary`,
        `/api/traces/${traceId}?view=skeleton`,
        `/api/traces/${traceId}/search?q=model`,
        `/api/traces/${traceId}/spans/${idOf(spans[1])}`,
        `/api/traces?crew=crew&limit=1&to=${new Date(NOW + 1).toISOString()}`,
        '/api/traces?text=okapi&model=model-a&attribute=organization_id=x',
        '/api/traces?text=the%20okapi&crew=crew',
        '/api/traces/totals?crew=crew',
        '/api/traces/totals?by=user',
        '/api/traces?excerpts=1024&sort=oldest',
        '/api/traces/histogram?crew=crew&interval=1h',
        '/api/usage?by=crew,model,organization',
        '/api/sessions',
        '/api/forwarding?after=0',
        `/api/export?from=2020-01-01&until=${new Date(NOW + 3_600_000).toISOString()}`,
        TAIL,
      ]
      before = await answers()
      expect(before.join('')).toContain('model-a')
    })
    const TAIL = '/api/tail?crew=crew'
    const ask = async (organization: string, path: string): Promise<string> => {
      const abort = new AbortController()
      const response = await fetch(`${harness.collector.url}${path}`, {
        headers: { authorization: await authorizationOf({ organization }), 'last-event-id': '0' },
        signal: abort.signal,
      })
      const text = await readToEvent(response)
      abort.abort()
      return `${response.status} ${text}`
    }
    const answers = async (asked = paths): Promise<string[]> => {
      await harness.rolledUp()
      const given: string[] = []
      for (const path of asked) given.push(await ask(A, path))
      return given
    }
    const erase = async (): Promise<void> => {
      const claims = { organization: B, scopes: ['traces:delete'] as const }
      await fetch(`${harness.collector.url}/api/traces/${spans[0]?.traceId ?? ''}`, {
        method: 'DELETE',
        headers: { authorization: await authorizationOf(claims) },
      })
    }

    /** Spans with the ids, or some of the ids, of A's, and other content. */
    const span = fc
      .record({
        like: fc.integer({ min: 0, max: 2 }),
        isSameStart: fc.boolean(),
        later: fc.integer({ min: -1000, max: 100_000 }),
        name: fc.constantFrom('root', 'call', 'evil'),
        parent: fc.constantFrom(undefined, 0, 1, 2),
        model: fc.constantFrom('model-a', 'model-b'),
        hasEnd: fc.boolean(),
      })
      .map((given) => (): OtlpSpan => {
        const original = spans[given.like] ?? {}
        const start = given.isSameStart ? original.startTimeUnixNano : nanos(NOW + given.later)
        return {
          ...original,
          name: given.name,
          startTimeUnixNano: start ?? '',
          endTimeUnixNano: given.hasEnd ? nanos(NOW + 1000 + given.later) : '0',
          ...(given.parent === undefined ? {} : { parentSpanId: idOf(spans[given.parent]) }),
          attributes: [
            textAttribute('gen_ai.operation.name', 'chat'),
            textAttribute('gen_ai.request.model', given.model),
            textAttribute('crew_id', 'crew'),
            textAttribute('organization_id', A),
            textAttribute('input.value', 'the okapi of B'),
            textAttribute('session.id', 'of B'),
          ],
        }
      })
    const act = fc.oneof(
      fc
        .array(span, { minLength: 1, maxLength: 4 })
        .map((made) => async () => b.send(bodyOf(...made.map((make) => make())))),
      fc.constant(async () => b.send(bodyOf(...spans))),
      fc.constant(erase),
      fc.nat(20).map((path) => async () => ask(B, paths[path % paths.length] ?? '')),
    )

    it('are asked on every route that there is', async () => {
      const routes = await mountedRoutes(harness.databaseUrl)
      const asked = paths.map((path) => path.replace(/\?.*/, ''))
      const patterns = routes
        .filter(({ method }) => method === 'GET')
        .map(({ path }) => `/api${path.replace(/:id|:span/g, '[0-9a-f]{16,32}')}`)
      const missing = patterns.filter(
        (pattern) => !asked.some((path) => new RegExp(`^${pattern}$`).test(path)),
      )
      expect(missing).toEqual([])
      expect(patterns.length).toBeGreaterThan(9)
    })

    it('get the same bytes', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 6 }), async (acts) => {
          await Promise.all(acts.slice(0, 2).map((run) => run()))
          for (const run of acts.slice(2)) await run()
          expect(await answers()).toEqual(before)
        }),
        { numRuns: RUNS },
      )
      await a.send(bodyOf(...spans))
      // A retry of its own is a change of its own, of which a tail tells.
      const lasting = paths.filter((path) => path !== TAIL)
      expect(await answers(lasting)).toEqual(before.slice(0, lasting.length))
    }, 180_000)
  })

  // On Citus there is no row-level security: conditions alone limit readers, as seen above.
  describe.skipIf(citusUrl !== undefined)('in the database', () => {
    const role = `reader_${freshId()}`
    let reader: Database
    beforeAll(async () => {
      await harness.sql.unsafe(`create role ${role} login password 'p' in role collector_reader`)
      const address = { ...parseAddress(harness.databaseUrl), user: role, password: 'p' }
      reader = connectDatabase(parseAddress(addressUrl(address)), { name: 'reader', max: 1 })
      for (const tenant of [a, b, platform]) await tenant.send(bodyOf(spanOf()))
    })
    afterAll(async () => {
      await reader.end()
      await harness.sql.unsafe(`drop role ${role}`)
    })

    const TABLES = ['spans', 'live_spans', 'llm_calls', 'resources', 'scopes', 'span_rejects']
    const seenIn = async (table: string, organization?: string): Promise<unknown[]> => {
      const rows = await reader.begin(async (tx) => {
        if (organization !== undefined) {
          await tx`select set_config('collector.organization', ${organization}, true)`
        }
        return tx`select distinct organization from ${tx(table)} order by 1`
      })
      return rows.map((row) => row['organization'])
    }

    it.each(TABLES)('a reader sees the rows of its organization only: %s', async (table) => {
      expect((await seenIn(table, A)).filter((found) => found !== A)).toEqual([])
      expect(await seenIn(table, 'nobody')).toEqual([])
      expect(await seenIn(table, '')).toEqual([])
      expect(await seenIn(table)).toEqual([])
    })

    it('a reader sees its own rows, and can change none', async () => {
      for (const table of ['spans', 'live_spans', 'llm_calls', 'resources', 'scopes']) {
        expect(await seenIn(table, A)).toEqual([A])
      }
      await expect(reader`delete from spans`).rejects.toMatchObject({ code: '42501' })
      await expect(reader`select from revoked_tokens`).rejects.toMatchObject({ code: '42501' })
    })

    it('every table that a reader may read is protected', async () => {
      const tables = await harness.sql<{ name: string; isProtected: boolean }[]>`
        select relname as name, relrowsecurity as is_protected from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
          and has_table_privilege('collector_reader', oid, 'select')
        order by 1`
      const open = tables.filter(({ isProtected }) => !isProtected).map(({ name }) => name)
      expect(tables.length).toBeGreaterThan(4)
      expect(open, 'its migration grants it by protect_by_organization').toEqual([
        'archived_days',
        'retention',
        'text_search',
      ])
    })

    it('others see what they were granted', async () => {
      const other = `other_${freshId()}`
      await harness.sql.unsafe(`create role ${other}; grant select on spans to ${other}`)
      const rows = await harness.sql.begin(async (tx) => {
        await tx.unsafe(`set local role ${other}`)
        return tx`select distinct organization from spans`
      })
      expect(rows.length).toBeGreaterThan(2)
      await harness.sql.unsafe(`drop owned by ${other}; drop role ${other}`)
    })
  })

  it('see nothing of others also where the database has no role for readers', async () => {
    const spans = traceOf(ids())
    await a.send(bodyOf(...spans))
    // As on a server that lets nobody make roles.
    await harness.sql`
      create or replace function reader_role() returns text language sql stable as 'select null'`
    for (const path of ['', `/${spans[0]?.traceId ?? ''}`]) {
      const { text } = await b.ask(`/api/traces${path}`)
      expect(text).not.toContain(idOf(spans[0]))
    }
    const resources = await b.ask('/api/traces')
    expect(resources.status).toBe(200)
    expect((await a.ask(`/api/traces/${spans[0]?.traceId ?? ''}`)).text).toContain('"crew"')
  })
})
