import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createEraser,
  relaxErasures,
} from '../../../services/collector/store/erasures/erase-trace.ts'
import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness, lockSpans, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

const DAY = 86_400_000

describe('the deletion of a trace', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const remove = async (
    traceId: string,
    { query = '', ...claims }: CollectorTokenOptions & { query?: string } = {},
  ): Promise<{ status: number; body: Record<string, unknown> }> => {
    const authorization = await authorizationOf({ scopes: ['traces:delete'], ...claims })
    const response = await fetch(`${harness.collector.url}/api/traces/${traceId}${query}`, {
      method: 'DELETE',
      headers: { authorization },
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const bodyOf = (...spans: OtlpSpan[]): Buffer => toProtobuf(requestOf(...spans))
  const send = (organization: string | undefined, ...spans: OtlpSpan[]): Promise<number> =>
    tenantOf(harness, organization).send(bodyOf(...spans))
  const traceOf = (daysAgo: readonly number[], name = 'secret'): OtlpSpan[] => {
    const traceId = freshId() + freshId()
    return daysAgo.map((days) =>
      spanOf({
        traceId,
        name,
        startTimeUnixNano: nanos(Date.now() - days * DAY),
        attributes: [textAttribute('large', 'a secret '.repeat(500))],
      }),
    )
  }
  const idOf = ([span]: readonly OtlpSpan[]): string => span?.traceId ?? ''
  const stored = async (table: string, traceId: string): Promise<string[]> => {
    const rows = await harness.sql<{ organization: string }[]>`
      select organization from ${harness.sql(table)} where trace_id = ${traceId}::uuid
      order by organization`
    return rows.map(({ organization }) => organization)
  }

  it.skipIf(citusUrl)('is of what was committed and is not rolled up yet, too', async () => {
    const spans = traceOf([0, 0])
    const traceId = idOf(spans)
    await harness.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LEADER_LOCK})`
      await send(A, ...spans)
      expect((await remove(traceId, { organization: A })).status).toBe(200)
      // The leader may take the notes of the commit before that of the deletion.
      await tx`delete from touched_traces where not is_stored`
      const [note] = await tx`select from touched_traces where roll_ups is not null`
      expect(note).toBeDefined()
    })
    await harness.rolledUp()
    expect(await stored('traces', traceId)).toEqual([])
  })

  it('removes spans of all days, rejects and roll-ups, and keeps who did it and when', async () => {
    const spans = traceOf([0, 0, 1, 3])
    const traceId = idOf(spans)
    await send(A, ...spans)
    await harness.sql`
      insert into span_rejects (organization, trace_id, sqlstate, reason, row_bytes)
      values (${A}, ${traceId}::uuid, '22000', 'a secret', 'a secret')`
    await expect.poll(() => stored('traces', traceId)).toEqual([A])
    const claims = { organization: A, id: 'token-7' }
    const { status, body } = await remove(traceId, claims)
    expect(status).toBe(200)
    expect(body).toEqual({
      trace_id: traceId,
      organization: A,
      spans: 4,
      erased_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(await stored('spans', traceId)).toEqual([])
    expect(await stored('span_rejects', traceId)).toEqual([])
    await expect.poll(() => stored('traces', traceId)).toEqual([])
    const audit = await harness.sql`
      select to_jsonb(erasures)::text as row, issuer, token_id, organization, spans::int,
        erased_at >= asked_at as is_done
      from erasures where trace_id = ${traceId}::uuid`
    expect(audit).toMatchObject([
      { issuer: 'test', tokenId: 'token-7', organization: A, spans: 4, isDone: true },
    ])
    expect(audit[0]?.['row']).not.toContain('secret')
    expect((await remove(traceId, claims)).status).toBe(404)
  })

  it('takes away what the trace has added to the usage', async () => {
    const [span = {}] = traceOf([0])
    const organization = `usage-${freshId()}`
    const attributes = [
      textAttribute('gen_ai.operation.name', 'chat'),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '70' } },
    ]
    await send(organization, { ...span, attributes })
    const tokens = async (): Promise<number> => {
      const [row] = await harness.sql<{ sum: number }[]>`
        select coalesce(sum(input_tokens), 0)::float8 as sum from usage_hourly
        where organization = ${organization}`
      return row?.sum ?? -1
    }
    await expect.poll(tokens).toBe(70)
    await remove(span.traceId ?? '', { organization })
    await expect.poll(tokens).toBe(0)
  })

  it('removes the texts that can be searched at once', async () => {
    const [span = {}] = traceOf([0])
    const traceId = span.traceId ?? ''
    const attributes = [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute('input.value', 'a secret of the prompt'),
    ]
    await send(A, { ...span, attributes })
    await harness.rolledUp()
    await harness.extracted()
    const signatures = () => harness.sql<{ isThere: boolean }[]>`
      select signature is not null as is_there from text_signatures
      where trace_ids @> array[${traceId}::uuid]`
    expect(await signatures()).toEqual([{ isThere: true }])
    await harness.sql`create table span_texts_former partition of span_texts default`
    await harness.sql`
      insert into span_texts (start_time, trace_id, span_id, organization, text)
      select start_time, trace_id, span_id, organization, 'of an earlier version' from spans
      where trace_id = ${traceId}::uuid`
    await remove(traceId, { organization: A })
    expect(await stored('span_texts', traceId)).toEqual([])
    expect((await signatures()).filter(({ isThere }) => isThere)).toEqual([])
    await harness.rolledUp()
    await harness.extracted()
    expect(await signatures()).toEqual([])
  })

  const ask = async (
    method: string,
    path: string,
    { body, ...claims }: CollectorTokenOptions & { body?: object } = {},
  ): Promise<number> => {
    const authorization = await authorizationOf(claims)
    const response = await fetch(`${harness.collector.url}/api${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    await response.text()
    return response.status
  }

  it('refuses a trace that a hold of its organization keeps, until that is lifted', async () => {
    const spans = traceOf([0])
    const traceId = idOf(spans)
    for (const organization of [A, B]) await send(organization, ...spans)
    const path = `/holds/${randomUUID()}`
    const claims = { organization: A, scopes: ['holds:write'] } as const
    const body = { trace_ids: [traceId] }
    for (const scopes of [['traces:read'], ['traces:delete'], ['traces:write']] as const)
      expect(await ask('PUT', path, { organization: A, scopes, body })).toBe(403)
    expect(await ask('PUT', path, { ...claims, body: { trace_ids: ['x'] } })).toBe(400)
    expect(await ask('PUT', path, { ...claims, body })).toBe(200)
    expect((await remove(traceId, { organization: A })).status).toBe(409)
    // Neither the hold of another organization nor its end reaches here.
    expect((await remove(traceId, { organization: B })).status).toBe(200)
    expect(await ask('DELETE', path, { ...claims, organization: B })).toBe(200)
    expect((await remove(traceId, { organization: A })).status).toBe(409)
    expect(await ask('DELETE', path, claims)).toBe(200)
    expect((await remove(traceId, { organization: A })).status).toBe(200)
  })

  it('finds and forgets a text for its own organization alone', async () => {
    const spans = traceOf([0], 'of ada@example.com')
    await send(A, ...spans)
    await harness.rolledUp()
    const body = { patterns: ['%ada@example.com%'] }
    const find = async (organization: string) => {
      const authorization = await authorizationOf({ organization, scopes: ['traces:read'] })
      const headers = { authorization, 'content-type': 'application/json' }
      const url = `${harness.collector.url}/api/mentions`
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      return ((await response.json()) as { trace_ids: string[] }).trace_ids.length
    }
    expect([await find(A), await find(B)]).toEqual([1, 0])
    expect(await ask('POST', '/mentions', { scopes: ['traces:write'], body })).toBe(403)
    expect(await ask('DELETE', '/mentions', { scopes: ['traces:read'], body })).toBe(403)
    expect(await ask('POST', '/mentions', { organization: A, body: { patterns: ['%'] } })).toBe(400)
  })

  it('carries out at its start what a ledger has and was not carried out', async () => {
    const spans = traceOf([0, 1])
    await send(A, ...spans)
    await harness.sql`
      insert into erasures (organization, trace_id) values (${A}, ${idOf(spans)}::uuid)`
    const other = await harness.another()
    await other.ready
    expect(await stored('spans', idOf(spans))).toEqual([])
    await other.stop()
  })

  it('touches no other organization, and shows no difference between theirs and none', async () => {
    const spans = traceOf([0, 1])
    const traceId = idOf(spans)
    for (const organization of [A, B, undefined]) await send(organization, ...spans)
    const ofB = await Promise.all(
      ['a'.repeat(32), traceId].map((id) =>
        remove(id, { organization: A, query: `?organization=${B}` }),
      ),
    )
    const [unknown, foreign] = ofB.map(({ status, body }) => `${status} ${String(body['detail'])}`)
    expect(foreign).toContain('400 organization must be that of the token')
    expect(foreign).toBe(unknown)
    expect((await remove(traceId, { organization: A })).body['spans']).toBe(2)
    expect(await stored('spans', traceId)).toEqual(['', '', B, B])
    // The platform says whose trace it means; without that it is its own.
    expect((await remove(traceId)).body).toMatchObject({ organization: '', spans: 2 })
    expect(await stored('spans', traceId)).toEqual([B, B])
    expect((await remove(traceId, { query: `?organization=${B}` })).status).toBe(200)
    expect(await stored('spans', traceId)).toEqual([])
  })

  it('holds for retries and late spans, of that organization and trace only', async () => {
    const spans = traceOf([0, 2])
    const [first = {}, second = {}] = spans
    const traceId = idOf(spans)
    await send(A, ...spans)
    await remove(traceId, { organization: A })
    const late = spanOf({ traceId, name: 'late' })
    const other = spanOf({ name: 'other' })
    // Acknowledged, so that their exporter does not repeat them for ever.
    expect(await send(A, first, other)).toBe(200)
    expect(await send(A, late, second, first)).toBe(200)
    expect(await send(B, first)).toBe(200)
    expect(await stored('spans', traceId)).toEqual([B])
    expect(await stored('spans', other.traceId ?? '')).toEqual([A])
    await harness.sql`update erasures set refused_until = now()`
    await relaxErasures(harness.sql)
    await send(A, late)
    expect(await stored('spans', traceId)).toEqual([A, B])
  })

  // On Citus each commit looks at the erasures.
  it.skipIf(citusUrl !== undefined)('costs commits nothing while nothing is refused', async () => {
    const isOn = async (): Promise<boolean> => {
      const rows = await harness.sql`
        select from pg_trigger where tgname = 'remove_erased_spans' and tgenabled <> 'D'`
      return rows.length > 0
    }
    await harness.sql`update erasures set refused_until = now()`
    await relaxErasures(harness.sql)
    expect(await isOn()).toBe(false)
    const spans = traceOf([0])
    await send(A, ...spans)
    await remove(idOf(spans), { organization: A })
    expect(await isOn()).toBe(true)
    await relaxErasures(harness.sql)
    expect(await isOn()).toBe(true)
  })

  it('leaves no span of a submission that is committed at the same time', async () => {
    for (let round = 0; round < 8; round++) {
      const spans = traceOf([0, 0, 0, 0, 0, 0])
      const traceId = idOf(spans)
      await send(A, ...spans.slice(0, 1))
      const sending = spans.slice(1).map((span) => send(A, span))
      const [erased] = await Promise.all([remove(traceId, { organization: A }), ...sending])
      expect(erased.status).toBe(200)
      expect(await stored('spans', traceId)).toEqual([])
    }
  })

  it.each([
    ['of no scope', {}],
    ['to read', { scopes: ['traces:read'] }],
    ['to write', { scopes: ['traces:write'] }],
  ] as const)('is refused to a token %s', async (_, claims) => {
    const spans = traceOf([0])
    await send(undefined, ...spans)
    const response = await fetch(`${harness.collector.url}/api/traces/${idOf(spans)}`, {
      method: 'DELETE',
      headers: { authorization: await authorizationOf(claims) },
    })
    expect(response.status).toBe(403)
    expect(await stored('spans', idOf(spans))).toEqual([''])
  })

  it('is no right to read', async () => {
    const response = await fetch(`${harness.collector.url}/api/traces`, {
      headers: { authorization: await authorizationOf({ scopes: ['traces:delete'] }) },
    })
    expect(response.status).toBe(403)
  })

  it('says what is wrong with an id or a parameter', async () => {
    expect((await remove('xyz')).status).toBe(400)
    expect((await remove('a'.repeat(32), { query: '?force=true' })).status).toBe(400)
  })

  it('is a 504 that deletes nothing when it takes too long, and can be repeated', async () => {
    const spans = traceOf([0])
    const traceId = idOf(spans)
    await send(A, ...spans)
    const address = parseAddress(harness.databaseUrl)
    const eraser = createEraser(address, { statementMs: 500 * slowness })
    const erasure = { traceId, organization: A, issuer: 'test', tokenId: undefined }
    // Held by a reader: the spans can be found, and not deleted.
    const sql = connectDatabase(address, { name: 'test-lock', max: 1 })
    await sql`begin`
    await sql`select from spans where trace_id = ${traceId}::uuid for update`
    await expect(eraser.erase(erasure)).rejects.toMatchObject({ status: 504 })
    await sql`rollback`
    await sql.end()
    expect(await stored('spans', traceId)).toEqual([A])
    expect(await eraser.erase(erasure)).toMatchObject({ spans: 1 })
    const unlock = await lockSpans(harness.databaseUrl)
    await expect(eraser.erase(erasure)).rejects.toMatchObject({ status: 504 })
    await unlock()
    await eraser.close()
  })
})
