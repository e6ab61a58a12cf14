import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { excerptOf } from '../../../services/collector/store/search/excerpt.ts'
import {
  openExtraction,
  takeExtraction,
} from '../../../services/collector/store/search/extract-texts.ts'
import {
  createSignatures,
  soughtHashes,
} from '../../../services/collector/store/search/signature.ts'
import { restAfter } from '../../../services/collector/store/search/keep-extracted.ts'
import { createWritingTime } from '../../../services/collector/store/spans/writing-share.ts'
import { prepareSearch } from '../../../services/collector/store/search/prepare-search.ts'
import { openTurns, startRebuild } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { dayOf, partitionName } from '../../../services/collector/store/spans/partitions.ts'
import { dropExpired } from '../../../services/collector/store/spans/retention.ts'
import { listTraces, readListQuery } from '../../../services/collector/read/lists/trace-list.ts'
import { openReaders } from '../../../services/collector/read/reader.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Message } from '../../../services/shared/trace-answers/one-trace.ts'
import { clockAt, createHarness, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { KeyValue, OtlpSpan } from './support/otlp.ts'
import { ask } from './support/reading.ts'
import { countUnfoundTexts } from './support/search-oracle.ts'

const DAY_MS = 86_400_000

interface Page {
  traces: { trace_id: string; match?: { span_id: string; excerpt: string } }[]
}

const call = (question: string, answer: string): KeyValue[] => [
  textAttribute('gen_ai.operation.name', 'chat'),
  textAttribute('gen_ai.input.messages', JSON.stringify([{ role: 'user', content: question }])),
  textAttribute('gen_ai.output.messages', JSON.stringify([{ role: 'assistant', content: answer }])),
]

describe('the search in prompts and answers', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const send = async (...spans: OtlpSpan[]): Promise<void> => {
    expect(await (await harness.post(toProtobuf(requestOf(...spans)))).text()).toBe('')
    await harness.rolledUp()
    await harness.extracted()
  }
  const list = async (query: string): Promise<Page['traces']> => {
    const response = await ask(harness, `/api/traces?${query}`)
    expect(response.status).toBe(200)
    return ((await response.json()) as Page).traces
  }
  const signedTraces = async (): Promise<string[]> => {
    const rows = await harness.sql<{ id: string }[]>`
      select replace(unnest(trace_ids)::text, '-', '') as id from text_signatures`
    return rows.map(({ id }) => id)
  }
  const idsOf = (traces: Page['traces']): string[] => traces.map(({ trace_id }) => trace_id)

  it('finds traces by what was asked, answered or passed to a tool, and shows where', async () => {
    const asked = spanOf({ attributes: call('Where is the OKAPI kept?', 'In the north house.') })
    const tool = spanOf({
      attributes: [
        textAttribute('gen_ai.operation.name', 'execute_tool'),
        textAttribute('gen_ai.tool.name', 'search'),
        textAttribute('gen_ai.tool.call.arguments', '{"query":"okapi 50%_off"}'),
      ],
    })
    const other = spanOf({ attributes: [textAttribute('note', 'an okapi in no message')] })
    await send(asked, tool, other)
    const found = await list('text=the%20okapi')
    expect(found).toMatchObject([{ trace_id: asked.traceId, match: { span_id: asked.spanId } }])
    expect(found[0]?.match?.excerpt).toBe('Where is the OKAPI kept?\nIn the north house.')
    expect(idsOf(await list('text=north%20house'))).toEqual([asked.traceId])
    expect(idsOf(await list('text=okapi&tool=search'))).toEqual([tool.traceId])
    expect(idsOf(await list('text=50%25_off'))).toEqual([tool.traceId])
    expect(await list('text=50xyoff')).toEqual([])
    const totals = await ask(harness, '/api/traces/totals?text=okapi')
    expect(await totals.json()).toMatchObject({ traces: 2 })
    const histogram = await ask(harness, '/api/traces/histogram?text=okapi&interval=7d')
    expect(await histogram.json()).toMatchObject({ buckets: [{ traces: 2 }] })
  })

  it('shows the first question and the last answer of each trace in a list', async () => {
    const at = (seconds: number) => nanos(Date.now() - 60_000 + seconds * 1000)
    const chain = textAttribute('openinference.span.kind', 'CHAIN')
    const told = [textAttribute('input.value', 'What?'), textAttribute('output.value', 'That.')]
    const traceOf = (...attributes: KeyValue[]): OtlpSpan[] => {
      const root = spanOf({ startTimeUnixNano: at(0), attributes: [chain, ...attributes] })
      const { traceId, spanId: parentSpanId } = root
      const later = (seconds: number, said: KeyValue[]) =>
        spanOf({ traceId, parentSpanId, startTimeUnixNano: at(seconds), attributes: said })
      return [root, later(2, call('then?', 'the last')), later(1, call('q'.repeat(30), 'a'))]
    }
    const [silentRoot, speakingRoot] = [traceOf(), traceOf(...told)]
    await send(...silentRoot, ...speakingRoot)
    const shown = async (spans: OtlpSpan[], query: string) =>
      (await list(query)).find(({ trace_id: id }) => id === spans[0]?.traceId)
    const short = { input: `${'q'.repeat(20)}…`, output: 'the last' }
    expect(await shown(silentRoot, 'excerpts=20')).toMatchObject(short)
    const whole = { input: 'What?', output: 'That.' }
    expect(await shown(speakingRoot, 'excerpts=20')).toMatchObject(whole)
    expect(await shown(silentRoot, 'limit=200')).not.toHaveProperty('input')
    expect((await ask(harness, '/api/traces?excerpts=1025')).status).toBe(400)
  })

  it('goes from trace to trace for what more spans have than are looked for', async () => {
    const calls = Array.from({ length: 6 }, () =>
      spanOf({ attributes: call('a common gnu', 'yes') }),
    )
    const last = spanOf({ attributes: [...call('a common gnu', 'no'), textAttribute('k', 'v')] })
    await send(...calls, last)
    const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    const limits = { traces: 100, lookUps: 100, named: 3 }
    const query = (text: string) => readListQuery(new URLSearchParams(text))
    const listed = async (text: string) =>
      (await listTraces(readers.for(undefined), query(text), limits)).traces
    expect(await listed('text=common%20gnu&limit=5')).toHaveLength(5)
    expect(await listed('text=common%20gnu')).toHaveLength(7)
    expect(await listed('text=common%20gnu&attribute=k=v')).toMatchObject([
      { trace_id: last.traceId, match: { span_id: last.spanId } },
    ])
    await readers.close()
  })

  it('finds a text that every span of a large trace has', async () => {
    const { traceId = '' } = spanOf()
    const calls = Array.from({ length: 450 }, () =>
      spanOf({ traceId, attributes: call('a herd of saiga', 'yes') }),
    )
    await send(...calls, spanOf({ traceId, attributes: call('a lone saiga', 'yes') }))
    expect(idsOf(await list('text=herd%20of%20saiga'))).toEqual([traceId])
    expect(idsOf(await list('text=lone%20saiga'))).toEqual([traceId])
  })

  it('ends in time, with a word, and leaves its connection in order', async () => {
    const calls = Array.from({ length: 40 }, () =>
      spanOf({ attributes: call('a slow tapir', 'yes '.repeat(100)) }),
    )
    await send(...calls)
    const readers = openReaders(parseAddress(harness.databaseUrl), { log: silent })
    const query = readListQuery(new URLSearchParams('text=slow%20tapir'))
    const limits = { traces: 100, lookUps: 100, named: 100 }
    for (const organization of [undefined, '']) {
      const reader = readers.for(organization)
      const late = listTraces(reader, query, { ...limits, budgetMs: -1 })
      await expect(late).rejects.toMatchObject({ code: 'timeout' })
      expect((await listTraces(reader, query, limits)).traces).toHaveLength(40)
    }
    await readers.close()
  })

  it('follows a span that comes again with another end, and one that is deleted', async () => {
    const first = spanOf({ endTimeUnixNano: '0', attributes: call('the first ibex', 'none yet') })
    await send(first)
    const ended = { ...first, endTimeUnixNano: nanos(Date.now() + 1000) }
    await send({ ...ended, attributes: call('the first ibex', 'now an answer') })
    expect((await list('text=first%20ibex'))[0]?.match?.excerpt).toContain('now an answer')
    expect(await list('text=none%20yet')).toEqual([])
    const { traceId = '' } = first
    await harness.sql.begin(async (tx) => {
      await tx`delete from spans where trace_id = ${traceId}::uuid`
      await tx`
        insert into touched_traces (day, trace_ids)
        values (current_date, uuid_send(${traceId}::uuid))`
    })
    await harness.rolledUp()
    await harness.extracted()
    expect(await signedTraces()).not.toContain(traceId)
  })

  it('finds texts of an earlier version, and reads them anew with their trace', async () => {
    const former = spanOf({ attributes: call('a former oryx', 'yes') })
    await send(former)
    const { traceId = '' } = former
    await harness.sql`delete from text_signatures where trace_ids @> array[${traceId}::uuid]`
    expect(await list('text=former%20oryx')).toEqual([])
    await harness.sql`create table span_texts_former partition of span_texts default`
    await harness.sql`
      insert into span_texts (start_time, trace_id, span_id, organization, text)
      select start_time, trace_id, span_id, organization, 'A former Oryx' from spans
      where trace_id = ${traceId}::uuid`
    const found = { trace_id: traceId, match: { excerpt: 'a former oryx\nyes' } }
    expect(await list('text=former%20oryx')).toMatchObject([found])
    await send(spanOf({ traceId, attributes: call('a later oryx', 'no') }))
    expect(await harness.sql`select from span_texts`).toEqual([])
    expect(await list('text=former%20oryx')).toMatchObject([found])
    expect(idsOf(await list('text=later%20oryx'))).toEqual([traceId])
    await harness.sql`drop table span_texts_former`
  })

  it('keeps few signatures of texts that come one by one', async () => {
    const spans = Array.from({ length: 18 }, (_, nr) =>
      spanOf({ attributes: call(`a single gaur ${nr}`, 'yes') }),
    )
    for (const span of spans) await send(span)
    const [row] = await harness.sql<{ open: number; texts: number }[]>`
      select count(*)::int as open, sum(texts)::int as texts from text_signatures
      where organization = '' and start_time > now() - interval '1 hour'`
    expect(row?.open).toBeLessThanOrEqual(16)
    expect(row?.texts).toBeGreaterThanOrEqual(18)
    expect(await list('text=single%20gaur&limit=200')).toHaveLength(18)
  }, 120_000)

  it('reads texts of new days, however many there are already', async () => {
    const now = Date.now()
    const days = [4, 5, 6].map((ago) =>
      spanOf({
        startTimeUnixNano: nanos(now - ago * DAY_MS),
        attributes: call(`a daily eland ${ago}`, 'yes'),
      }),
    )
    for (const span of days) await send(span)
    expect(idsOf(await list('text=daily%20eland'))).toEqual(days.map(({ traceId }) => traceId))
  })

  it('forgets a day with its spans', async () => {
    const day = dayOf(Date.now()) - 3
    const old = spanOf({
      startTimeUnixNano: nanos(day * DAY_MS + 1000),
      endTimeUnixNano: nanos(day * DAY_MS + 2000),
      attributes: call('an old zebu', 'yes'),
    })
    await send(old)
    const name = partitionName(day).replace('spans', 'text_signatures')
    expect(idsOf(await list('text=old%20zebu'))).toEqual([old.traceId])
    await harness.sql.unsafe(`drop table ${partitionName(day)}`)
    const address = parseAddress(harness.databaseUrl)
    const clock = clockAt(Date.now)
    await dropExpired({ address, log: silent, clock, weeks: 1, guard: (days) => [...days] })
    expect(await harness.sql`select where to_regclass(${name}) is not null`).toEqual([])
  })

  it('is made anew with the roll-ups, and when it is switched on again', async () => {
    const span = spanOf({ attributes: call('a lasting kudu', 'yes') })
    await send(span)
    const settle = async (): Promise<void> => {
      await harness.rolledUp()
      await harness.extracted()
      expect(idsOf(await list('text=lasting%20kudu'))).toEqual([span.traceId])
    }
    const session = await openTurns(parseAddress(harness.databaseUrl), [])
    await startRebuild(session)
    session.close()
    await settle()
    expect(await prepareSearch(harness.sql, false)).toBe('off')
    expect(await signedTraces()).toEqual([])
    const response = await ask(harness, '/api/traces?text=lasting')
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('COLLECTOR_SEARCH=on switches it on')
    expect(await prepareSearch(harness.sql, true)).toBe('on')
    await settle()
  })

  it('says in the health report whether it can be used', async () => {
    const health = await fetch(`${harness.collector.url}/health`)
    expect(await health.json()).toMatchObject({ status: 'ok', search: 'on' })
  })
})

describe('a turn that reads texts', () => {
  const { traceId = '' } = spanOf()
  const spans = Array.from({ length: 600 }, (_, nr) =>
    spanOf({ traceId, attributes: call(`an addax ${nr}`, 'yes') }),
  )
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
    expect((await harness.post(toProtobuf(requestOf(...spans)))).status).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
    await harness.collector.stop()
  })
  afterAll(() => harness.stop())

  it('signs each once, also of more spans or bytes than are read at a time', async () => {
    const fewSpans = { spans: 256, bytes: 1e9 }
    const fewBytes = { spans: 1e6, bytes: 20_000 }
    for (const limits of [fewSpans, fewBytes]) {
      const session = await openExtraction(parseAddress(harness.databaseUrl), limits)
      await harness.sql`delete from text_signatures`
      await harness.sql`
        insert into traces_to_extract (organization, day, trace_ids)
        select organization, (start_time at time zone 'UTC')::date, uuid_send(trace_id) from spans
        group by 1, 2, 3`
      let isDone = false
      while (!isDone) ({ isDone } = await takeExtraction(session))
      session.close()
      const [signed] = await harness.sql`
        select count(*)::int as texts, count(distinct member)::int as spans
        from text_signatures, unnest(members) as member`
      expect(signed).toEqual({ texts: spans.length, spans: spans.length })
      expect(await countUnfoundTexts(harness.sql)).toBe(0)
    }
  })

  it('takes small notes together, and of whole ones four', async () => {
    const session = await openExtraction(parseAddress(harness.databaseUrl))
    const { sql } = harness
    const notesAfterTurn = async (...traces: number[]): Promise<number> => {
      for (const count of traces)
        await sql`
          insert into traces_to_extract (organization, day, trace_ids)
          select '', current_date, string_agg(uuid_send(gen_random_uuid()), '')
          from generate_series(1, ${count})`
      await takeExtraction(session)
      return (await sql`delete from traces_to_extract`).count
    }
    expect(await notesAfterTurn(...Array<number>(30).fill(1))).toBe(0)
    expect(await notesAfterTurn(...Array<number>(6).fill(250))).toBe(2)
    session.close()
  })
})

describe('the text of a span', () => {
  const text = (role: string, words: string) => ({
    role,
    content: [{ type: 'text' as const, text: words }],
  })

  it('has the latest messages of the input and the beginning of the output', () => {
    const input = [text('system', 's'.repeat(900)), text('user', 'u'.repeat(1000))]
    const excerpt = excerptOf({ input, output: [text('assistant', 'a'.repeat(5000))] })
    const kept = `${'s'.repeat(24)}\n${'u'.repeat(1000)}\n${'a'.repeat(1024)}`
    expect(excerpt).toEqual({ text: kept, askedAt: 25, answeredAt: 1026 })
  })

  it('is signed to its end, however many messages it is of', () => {
    const input = Array<Message>(1500).fill(text('user', 'u'))
    const answer = `${'a'.repeat(1021)}xyz`
    const excerpt = excerptOf({ input, output: [text('assistant', answer)] })
    const signature = createSignatures()([excerpt.text])
    for (const hash of soughtHashes('axyz'))
      expect(signature[hash & (signature.length - 1)]).toBe(0x80)
  })

  it('says what was asked, not what the system or the model has said before', () => {
    const [rules, asked] = [text('system', 'Be short.'), text('user', 'Why?')]
    expect(excerptOf({ input: [rules], output: [] })).toMatchObject({ askedAt: null })
    expect(excerptOf({ input: [text('developer', 'x')], output: [] }).askedAt).toBeNull()
    const given = { input: [asked, rules, text('assistant', 'So')], output: [] }
    expect(excerptOf(given)).toEqual({
      text: 'Be short.\nSo\nWhy?',
      askedAt: 13,
      answeredAt: null,
    })
  })

  it('tells a text that was only asked from one that was only answered', () => {
    const [asked, answered] = [[text('user', 'Why? 😀')], [text('assistant', 'So.')]]
    const only = { text: 'Why? 😀', askedAt: 0, answeredAt: null }
    expect(excerptOf({ input: asked, output: [] })).toEqual(only)
    expect(excerptOf({ input: [], output: answered })).toMatchObject({
      askedAt: null,
      answeredAt: 0,
    })
    expect(excerptOf({ input: [], output: [] })).toMatchObject({ askedAt: null, answeredAt: null })
  })

  it('never ends with half a character', () => {
    const output = [text('assistant', `${'a'.repeat(1023)}😀`)]
    expect(excerptOf({ input: [], output }).text).toBe('a'.repeat(1023))
  })
})

describe('the one who reads texts', () => {
  it.each([
    { rests: 'twice as long as it worked', worked: 700, expected: 1400 },
    { rests: 'five seconds at the most', worked: 4000, expected: 5000 },
    { rests: 'not at all while texts are a minute late', lagMs: 60_001, worked: 4000, expected: 0 },
    { rests: 'a second with nothing to read', lagMs: 0, isDone: true, worked: 1, expected: 1000 },
    { rests: 'eight times as long below busy writers', busy: 0.9, worked: 700, expected: 5600 },
    { rests: 'longer below those', busy: 0.9, worked: 4000, expected: 15_000 },
    { rests: 'twice as long, late below those', lagMs: 60_001, busy: 1, worked: 9, expected: 18 },
  ])('rests $rests', ({ lagMs = 60_000, isDone = false, busy = 0.8, worked, expected }) => {
    expect(restAfter({ spans: 0, isDone, lagMs }, worked, busy)).toBe(expected)
  })

  it('knows how much of the time the writers were writing', () => {
    let now = 1000
    const time = createWritingTime(2, () => now)
    const share = time.watch()
    const other = time.watch()
    time.note(0.5)
    now += 1000
    expect(share.look()).toBe(0.25)
    time.note(9)
    now += 1000
    expect(share.look()).toBe(1)
    expect(share.look()).toBe(0)
    now += 17_000
    expect(other.look()).toBe(0.25)
  })
})
