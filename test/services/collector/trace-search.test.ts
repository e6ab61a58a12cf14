import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { searchTrace } from '../../../services/collector/read/trace-search.ts'
import type { SearchLimits } from '../../../services/collector/read/trace-search.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createHarness, lockSpans, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { ask } from './support/reading.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'

interface Page {
  spans_searched: number
  matches: { span_id: string; name: string; found: { in: string; excerpt: string }[] }[]
  next_cursor: string | null
}

describe('the search within a trace', () => {
  let harness: Harness
  const now = Date.now()
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const address = () => parseAddress(harness.databaseUrl)
  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    const answer = await harness.post(toProtobuf(requestOf(...spans)))
    expect(answer.status).toBe(200)
  }
  const search = async (traceId: string, q: string, more = ''): Promise<Page> => {
    const path = `/api/traces/${traceId}/search?q=${encodeURIComponent(q)}${more}`
    const response = await ask(harness, path)
    expect(response.status).toBe(200)
    return (await response.json()) as Page
  }
  /** Asks without HTTP, in parts of two spans if nothing else is said. */
  const searchParts = async (
    id: string,
    query: { text: string; limit: number },
    limits: SearchLimits,
  ) => {
    const readers = openReaders(address(), { log: silent })
    const traceId = id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const partSize = { spans: 2, bytes: 1e6 }
    const reader = readers.for(undefined)
    const page = await searchTrace(reader, { traceId, ...query }, { partSize, ...limits })
    await readers.close()
    return page
  }
  /** A trace with a span of each name, in this order. */
  const traceOf = (spans: readonly OtlpSpan[]): OtlpSpan[] => {
    const traceId = freshId() + freshId()
    return spans.map((span, i) => spanOf({ traceId, startTimeUnixNano: nanos(now + i), ...span }))
  }
  const idOf = ([span]: readonly OtlpSpan[]): string => span?.traceId ?? ''

  it('finds a text in each part of a span, with what stands around it', async () => {
    const long = `${'before '.repeat(50)}The needle "in"\nthe stack.${' after'.repeat(50)}`
    const spans = traceOf([
      { name: 'needle first' },
      { name: 'b', status: { code: 2, message: 'no needle here' } },
      { name: 'c', attributes: [textAttribute('small', 'a needle')] },
      { name: 'd', attributes: [textAttribute('gen_ai.prompt', long)] },
      { name: 'e', events: [{ name: 'needle seen', timeUnixNano: nanos(now) }] },
      { name: 'f', attributes: [textAttribute('needle', 'as a key')] },
      { name: 'Needle', attributes: [textAttribute('other', 'NEEDLE')] },
    ])
    await send(...spans)
    // A trace of its own is not looked at.
    await send(spanOf({ name: 'needle elsewhere' }))
    const { matches, ...rest } = await search(idOf(spans), 'needle')
    expect(rest).toMatchObject({ spans_searched: 7, next_cursor: null })
    expect(matches.map(({ name, found }) => [name, found.map((one) => one.in)])).toEqual([
      ['needle first', ['name']],
      ['b', ['status_message']],
      ['c', ['attributes']],
      ['d', ['payload']],
      ['e', ['events']],
      ['f', ['attributes']],
    ])
    expect(matches.map(({ span_id }) => span_id)).toEqual(
      spans.slice(0, 6).map(({ spanId }) => spanId),
    )
    expect(matches[3]?.found[0]?.excerpt).toMatch(/^.{0,60}The needle "in"\nthe stack\..{1,60}$/s)
  })

  it.each(['say "yes"', 'back\\slash', 'two\nlines', 'tab\there', 'ünï…😀', '%', "it's"])(
    'finds %j as it was sent, in small values and in large ones',
    async (text) => {
      const spans = traceOf([
        { name: text },
        { attributes: [textAttribute('small', `x ${text} x`)] },
        { attributes: [textAttribute('large', `${'x'.repeat(500)}${text}`)] },
        { attributes: [textAttribute('other', 'something else')] },
      ])
      await send(...spans)
      const { matches } = await search(idOf(spans), text)
      expect(matches).toHaveLength(3)
      for (const { found } of matches) expect(found[0]?.excerpt).toContain(text)
    },
  )

  it('goes page by page, and neither repeats nor skips a span', async () => {
    const names = Array.from({ length: 11 }, (_, i) => (i % 2 === 0 ? `hit ${i}` : 'no'))
    const spans = traceOf(names.map((name) => ({ name })))
    await send(...spans)
    const seen: string[] = []
    let searched = 0
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Page = await search(
        idOf(spans),
        'hit',
        `&limit=2${cursor && `&cursor=${cursor}`}`,
      )
      seen.push(...page.matches.map(({ name }) => name))
      searched += page.spans_searched
      cursor = page.next_cursor
    }
    expect(seen).toEqual(names.filter((name) => name !== 'no'))
    expect(searched).toBe(11)
  })

  it('ends a page when its time is up, and says where to go on', async () => {
    const spans = traceOf([{ name: 'no' }, { name: 'no' }, { name: 'the last' }])
    await send(...spans)
    const page = await searchParts(idOf(spans), { text: 'the last', limit: 10 }, { budgetMs: 0 })
    expect(page).toMatchObject({ matches: [], spans_searched: 2 })
    const rest = await search(idOf(spans), 'the last', `&cursor=${page.next_cursor}`)
    expect(rest).toMatchObject({ spans_searched: 1, matches: [{ name: 'the last' }] })
  })

  it('finds the same in parts of any size, with spans that start together', async () => {
    const large = textAttribute('large', 'x'.repeat(900))
    const spans = traceOf(
      Array.from({ length: 12 }, (_, i) => ({
        name: `hit ${i}`,
        startTimeUnixNano: nanos(now + Math.floor(i / 5)),
        attributes: i % 4 === 0 ? [large] : [],
      })),
    )
    await send(...spans)
    const found = (page: { matches: readonly { span_id: string }[] }) =>
      page.matches.map(({ span_id }) => span_id)
    const all = found(await search(idOf(spans), 'hit'))
    expect(all).toHaveLength(12)
    expect(new Set(all)).toEqual(new Set(spans.map(({ spanId }) => spanId)))
    for (const partSize of [
      { spans: 1, bytes: 1e6 },
      { spans: 100, bytes: 1000 },
      { spans: 5, bytes: 1500 },
    ]) {
      for (const limit of [1, 4, 12, 100]) {
        const page = await searchParts(idOf(spans), { text: 'hit', limit }, { partSize })
        expect(found(page)).toEqual(all.slice(0, limit))
        expect(page.spans_searched).toBe(Math.min(limit, 12))
      }
    }
  })

  it('is a 504 when the database takes too long', async () => {
    const spans = traceOf([{ name: 'a' }])
    await send(...spans)
    const readers = openReaders(address(), { statementMs: 50, log: silent })
    const reader = readers.for(undefined)
    const unlock = await lockSpans(harness.databaseUrl)
    const searching = searchTrace(reader, { traceId: idOf(spans), text: 'a', limit: 10 })
    await expect(searching).rejects.toMatchObject({ status: 504 })
    await unlock()
    await readers.close()
  })

  it.each([
    ['', 'q '],
    ['?q=', 'q must have 1 to 200 characters (given: "").'],
    [`?q=${'x'.repeat(201)}`, 'q must have 1 to 200 characters'],
    ['?q=a%00', 'q must have 1 to 200 characters'],
    ['?q=a&limit=201', 'limit must be between 1 and 200'],
    ['?q=a&cursor=abc', 'cursor must be the next_cursor of an earlier page'],
    ['?q=a&cursor=OTk5OTk5OTk5OTk5OTk5OTk5IDE', 'cursor must be the next_cursor'],
    ['?q=a&case=x', 'There is no parameter "case"; there are organization, q, limit, cursor'],
  ])('explains what is wrong in %s', async (query, message) => {
    const response = await ask(harness, `/api/traces/${'a'.repeat(32)}/search${query}`)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { detail: string }).detail).toContain(message)
  })

  it('is a 404 for a trace that is not there', async () => {
    const response = await ask(harness, `/api/traces/${'a'.repeat(32)}/search?q=a`)
    expect(response.status).toBe(404)
  })
})
