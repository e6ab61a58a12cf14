import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { tailEvents } from '../../../services/collector/read/tail.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import { createHarness, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

interface Event {
  readonly id: string
  readonly name: string
  readonly data: Record<string, unknown>
}

interface Tail {
  /** The next event, of whatever kind. */
  next(): Promise<Event | undefined>
  close(): void
}

const parse = (text: string): Event => {
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1] ?? ''
  return { id: field('id'), name: field('event'), data: JSON.parse(field('data')) }
}

describe('the tail', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const open = async (
    query: string,
    {
      lastEventId = '',
      url = harness.collector.url,
      ...claims
    }: CollectorTokenOptions & {
      lastEventId?: string
      url?: string
    } = {},
  ): Promise<Tail> => {
    const abort = new AbortController()
    const response = await fetch(`${url}/api/tail${query}`, {
      headers: { authorization: await authorizationOf(claims), 'last-event-id': lastEventId },
      signal: abort.signal,
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    return {
      async next() {
        for (;;) {
          const end = rest.indexOf('\n\n')
          const block = rest.slice(0, Math.max(0, end))
          if (end >= 0) rest = rest.slice(end + 2)
          if (block.includes('event: ')) return parse(block)
          if (end >= 0) continue
          const { value } = (await reader?.read()) ?? {}
          if (value === undefined) return undefined
          rest += value
        }
      },
      close: () => abort.abort(),
    }
  }
  const send = async (organization: string | undefined, ...spans: OtlpSpan[]): Promise<void> => {
    await tenantOf(harness, organization).send(toProtobuf(requestOf(...spans)))
  }
  const named = (name: string, crew?: string): OtlpSpan =>
    spanOf({ name, attributes: crew === undefined ? [] : [textAttribute('crew_id', crew)] })

  it('tells of traces as they are committed, at any collector, and of their changes', async () => {
    const other = await harness.another()
    const tail = await open('', { url: other.url })
    const span = named('first')
    await send(undefined, { ...span, endTimeUnixNano: '0' })
    const started = await tail.next()
    expect(started).toMatchObject({
      name: 'trace',
      data: { trace_id: span.traceId, name: 'first', status: 'running', spans: 1, is_gone: false },
    })
    await send(undefined, span)
    const ended = await tail.next()
    expect(ended?.data).toMatchObject({ trace_id: span.traceId, status: 'ok' })
    expect(Number(ended?.id)).toBeGreaterThan(Number(started?.id))
    tail.close()
  })

  it('goes on behind the last event that was seen', async () => {
    const tail = await open('')
    await send(undefined, named('one'))
    const one = await tail.next()
    tail.close()
    const missed = named('two')
    await send(undefined, missed)
    const again = await open('', { lastEventId: one?.id ?? '' })
    expect((await again.next())?.data['trace_id']).toBe(missed.traceId)
    again.close()
  })

  it('says when changes were forgotten', async () => {
    await send(undefined, named('before'))
    await expect
      .poll(async () => (await harness.sql`select from trace_changes`).length)
      .toBeGreaterThan(0)
    await harness.sql`
      insert into trace_changes (organization, trace_id) select '', gen_random_uuid()
      from generate_series(1, 3)`
    await harness.sql`
      delete from trace_changes where revision < (select max(revision) from trace_changes)`
    const tail = await open('', { lastEventId: '1' })
    expect((await tail.next())?.name).toBe('missed')
    tail.close()
  })

  it('has the traces of the organization, automation and run that were asked for', async () => {
    const kickoff = freshId()
    const tails = await Promise.all([
      open('', { organization: A }),
      open('', { organization: B }),
      open('?crew=crew-1'),
      open(`?kickoff=${kickoff}`),
    ])
    const run = named('run')
    await send(A, named('of A'))
    await send(B, named('of B', 'crew-1'))
    await send(undefined, { ...run, attributes: [textAttribute('kickoff_id', kickoff)] })
    const names = await Promise.all(tails.map(async (tail) => (await tail.next())?.data['name']))
    expect(names).toEqual(['of A', 'of B', 'of B', 'run'])
    for (const tail of tails) tail.close()
  })

  it('ends when the token does, and says why', async () => {
    const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    let reason: string | undefined
    const limits = { reasonToEnd: () => reason, pollMs: 1, heartbeatMs: 0 }
    const events = tailEvents(readers.for(undefined), { after: undefined }, limits)
    expect((await events.next()).value).toBe('retry: 2000\n\n')
    expect((await events.next()).value).toBe(': nothing new\n\n')
    reason = 'token'
    expect((await events.next()).value).toBe('event: end\ndata: {"reason":"token"}\n\n')
    expect((await events.next()).done).toBe(true)
    await readers.close()
  })

  it('ends when the collector stops', async () => {
    const other = await harness.another()
    const tail = await open('', { url: other.url })
    const stopped = other.stop()
    expect(await tail.next()).toMatchObject({ name: 'end', data: { reason: 'draining' } })
    expect(await tail.next()).toBeUndefined()
    await stopped
  })

  it.each([
    ['?model=x', '', 'There is no parameter "model"; there are organization, crew, kickoff.'],
    ['', 'x', 'cursor must be the next_cursor of an earlier page'],
  ])('explains what is wrong in "%s" with the last event "%s"', async (query, id, message) => {
    const response = await fetch(`${harness.collector.url}/api/tail${query}`, {
      headers: { authorization: await authorizationOf(), 'last-event-id': id },
    })
    expect(response.status).toBe(400)
    expect(((await response.json()) as { detail: string }).detail).toContain(message)
  })
})
