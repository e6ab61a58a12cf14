import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { exportLines } from '../../../services/collector/read/span-export.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createHarness, lockSpans, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan, TraceRequest } from './support/otlp.ts'
import { openRaw } from './support/raw.ts'
import { ask } from './support/reading.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

interface Line extends TraceRequest {
  cursor?: string
  complete?: boolean
}

const spansOf = (lines: readonly Line[]): OtlpSpan[] =>
  lines.flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans = [] }) => spans)),
  )
const namesOf = (lines: readonly Line[]): (string | undefined)[] =>
  spansOf(lines).map(({ name }) => name)
const parse = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

/** Each test has a day of its own, so that none sees the spans of another. */
let day = Date.UTC(2000, 0, 1)
const DAY = 86_400_000

describe('the export', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ RETENTION_WEEKS: '5200' })
  })
  afterAll(() => harness.stop())

  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    const answer = await harness.post(toProtobuf(requestOf(...spans)))
    expect(await answer.text()).toBe('')
  }
  const nextDay = (): number => (day += 3 * DAY)
  const range = (from: number): string =>
    `from=${new Date(from).toISOString()}&until=${new Date(from + DAY).toISOString()}`
  const read = async (query: string): Promise<Line[]> => {
    const response = await ask(harness, `/api/export?${query}`)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    return parse(await response.text())
  }
  const at = (ms: number, given: OtlpSpan = {}): OtlpSpan =>
    spanOf({ startTimeUnixNano: nanos(ms), endTimeUnixNano: nanos(ms + 5), ...given })

  it('has each span as the trace has it, in the order of their start, and an end', async () => {
    const from = nextDay()
    const traceId = freshId() + freshId()
    const span = at(from, {
      traceId,
      name: 'rich',
      traceState: 'a=b',
      flags: 257,
      status: { code: 2, message: 'failed' },
      attributes: [textAttribute('small', 'x'), textAttribute('large', 'x'.repeat(1000))],
      events: [{ name: 'e', timeUnixNano: nanos(from) }],
      links: [{ traceId: freshId() + freshId(), spanId: freshId() }],
      droppedAttributesCount: 3,
    })
    await send(at(from + 2, { name: 'third' }), at(from + DAY, { name: 'too late' }))
    await send(at(from + 1, { name: 'second' }), at(from - 1, { name: 'too early' }), span)
    const lines = await read(range(from))
    expect(namesOf(lines)).toEqual(['rich', 'second', 'third'])
    expect(lines.at(-1)).toMatchObject({ resourceSpans: [], complete: true })
    expect(lines.filter(({ complete }) => complete)).toHaveLength(1)
    const document = (await (await ask(harness, `/api/traces/${traceId}`)).json()) as TraceRequest
    expect(spansOf(lines)[0]).toEqual(spansOf([document])[0])
    expect(lines[0]?.resourceSpans?.[0]?.resource).toEqual(document.resourceSpans?.[0]?.resource)
  })

  it('goes on from the cursor of any line, and neither repeats nor skips a span', async () => {
    const from = nextDay()
    const names = Array.from({ length: 700 }, (_, i) => `${i}`)
    // Several at one time: the ids decide, which count up.
    const spans = names.map((name, i) => at(from + Math.floor(i / 5), { name }))
    await send(...spans)
    const lines = await read(range(from))
    expect(lines.length).toBeGreaterThan(3)
    expect(new Set(namesOf(lines))).toEqual(new Set(names))
    expect(namesOf(lines)).toHaveLength(names.length)
    for (const [index, { cursor }] of lines.entries()) {
      const rest = await read(`${range(from)}&cursor=${cursor}`)
      expect(namesOf(rest)).toEqual(namesOf(lines.slice(index + 1)))
      expect(rest.at(-1)?.complete).toBe(true)
    }
  })

  it.each([
    ['crew', 'crew_id'],
    ['kickoff', 'kickoff_id'],
    ['session', 'session.id'],
    ['user', 'user.id'],
  ])('has whole traces of which a span fits %s', async (filter, attribute) => {
    const from = nextDay()
    const traceId = freshId() + freshId()
    await send(
      at(from, { traceId, name: 'root', attributes: [textAttribute(attribute, 'one')] }),
      at(from + 1, { traceId, name: 'child' }),
      at(from + 2, { name: 'other', attributes: [textAttribute(attribute, 'two')] }),
    )
    expect(namesOf(await read(`${range(from)}&${filter}=one`))).toEqual(['root', 'child'])
    expect(namesOf(await read(`${range(from)}&${filter}=none`))).toEqual([])
  })

  it('is compressed where that is asked for', async () => {
    const from = nextDay()
    await send(at(from, { name: 'zipped' }))
    const raw = await openRaw(harness.collector.url)
    const head = `GET /api/export?${range(from)} HTTP/1.0\r\nhost: x\r\naccept-encoding: gzip\r\n`
    const chunks: Buffer[] = []
    raw.socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    raw.write(`${head}authorization: ${await authorizationOf()}\r\n\r\n`)
    await new Promise((resolve) => raw.socket.once('close', resolve))
    const answer = Buffer.concat(chunks)
    const body = answer.indexOf('\r\n\r\n') + 4
    expect(answer.toString('latin1', 0, body)).toMatch(/content-encoding: gzip/i)
    expect(namesOf(parse(gunzipSync(answer.subarray(body)).toString()))).toEqual(['zipped'])
  })

  it('has nothing of another organization, and everything for the platform', async () => {
    const from = nextDay()
    const span = at(from, { name: 'of A' })
    await tenantOf(harness, A).send(toProtobuf(requestOf(span)))
    await tenantOf(harness, B).send(toProtobuf(requestOf({ ...span, name: 'of B' })))
    const names = async (organization?: string): Promise<unknown> => {
      const { text } = await tenantOf(harness, organization).ask(`/api/export?${range(from)}`)
      return namesOf(parse(text))
    }
    expect(await names(A)).toEqual(['of A'])
    expect(await names(B)).toEqual(['of B'])
    expect(await names()).toEqual(['of A', 'of B'])
  })

  it('ends without its last line when it may not go on', async () => {
    const from = nextDay()
    await send(...Array.from({ length: 600 }, (_, i) => at(from + i)))
    const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    const query = { from: new Date(from), until: new Date(from + DAY) }
    const lines: string[] = []
    for await (const line of exportLines(readers.for(undefined), query, () => lines.length < 1)) {
      lines.push(line)
    }
    await readers.close()
    expect(lines).toHaveLength(1)
    expect(parse(lines.join(''))[0]?.complete).toBeUndefined()
  })

  it('is made twice at a time, and no more', async () => {
    const from = nextDay()
    const large = [textAttribute('large', 'x'.repeat(200_000))]
    for (let i = 0; i < 4; i++) {
      await send(...Array.from({ length: 20 }, () => at(from, { attributes: large })))
    }
    const aborts = [new AbortController(), new AbortController()]
    const open = ({ signal }: AbortController): Promise<Response> =>
      authorizationOf().then((authorization) =>
        fetch(`${harness.collector.url}/api/export?${range(from)}`, {
          headers: { authorization },
          signal,
        }),
      )
    const answers = await Promise.all(aborts.map(open))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const third = await ask(harness, `/api/export?${range(from)}`)
    expect(third.status).toBe(503)
    expect(third.headers.get('retry-after')).toBe('5')
    for (const abort of aborts) abort.abort()
    await expect
      .poll(async () => (await ask(harness, `/api/export?${range(from)}`)).status)
      .toBe(200)
  })

  it.each([
    ['', 'from is required, such as from=2026-11-21.'],
    ['from=2026-01-02&until=2026-01-02', 'from (2026-01-02) must be before until (2026-01-02).'],
    ['from=3000-01-01', 'from (3000-01-01) must be before until (now).'],
    ['from=2026-01-01&cursor=abc', 'cursor must be the next_cursor of an earlier page'],
    [
      'from=2026-01-01&format=parquet',
      'There is no parameter "format"; there are organization, from, until',
    ],
  ])('explains what is wrong in "%s"', async (query, message) => {
    const response = await ask(harness, `/api/export?${query}`)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { detail: string }).detail).toContain(message)
  })

  it('is a 504 when the database takes too long', async () => {
    const log = silent
    const readers = openReaders(parseAddress(harness.databaseUrl), { statementMs: 50, log })
    const unlock = await lockSpans(harness.databaseUrl)
    const query = { from: new Date(0), until: new Date() }
    const lines = exportLines(readers.for(undefined), query, () => true)
    await expect(lines.next()).rejects.toMatchObject({ status: 504 })
    await unlock()
    await readers.close()
  })
})
