import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasInvisible } from '../../../../../services/web/console/frame/text/visible-text.ts'
import type { KeyValue, OtlpSpan } from '../../../collector/support/otlp.ts'
import { idOf } from '../../support/example-trace.ts'
import { freshTraceId, openTracedApp } from '../../support/traces.ts'
import type { TracedApp } from '../../support/traces.ts'

const text = (key: string, stringValue: string): KeyValue => ({ key, value: { stringValue } })

const SCRIPT = `"'><script>alert(1)</script><img src=x onerror=alert(2)><b>x`
const ANSI = '\u001b[31mred\u001b[0m\u0007'
const TURNED = 'abc\u202edcba\u2066x'
const MARKDOWN = '# a\n```\nopen **bold [x](javascript:alert(1)) ![y](https://evil.test/y.png) <b>x'
const PICTURE = `data:image/png;base64,${'iVBORw0KGgo'.repeat(20_000)}`
const LONG = 'y'.repeat(5 << 20)

interface Times {
  readonly parent?: number
  readonly from?: number
  /** Null for no end. */
  readonly to?: number | null
}

const startNs = BigInt(Date.now() - 60_000) * 1_000_000n
const at = (ms: number): string => `${startNs + BigInt(ms) * 1_000_000n}`

/** A span in a trace of its own kind of badness. */
const span = (
  id: number,
  { parent, from = 0, to = 100 }: Times,
  more: OtlpSpan = {},
): OtlpSpan => ({
  spanId: idOf(id),
  ...(parent === undefined ? {} : { parentSpanId: idOf(parent) }),
  startTimeUnixNano: at(from),
  ...(to === null ? {} : { endTimeUnixNano: at(to) }),
  name: `span ${id}`,
  ...more,
})

const said = (content: unknown): string => JSON.stringify([{ role: 'assistant', parts: [content] }])

/** A span that has a text wherever a sender can put one. */
const everywhere = (bad: string): OtlpSpan =>
  span(
    1,
    {},
    {
      name: bad,
      attributes: [
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.request.model', bad),
        text('gen_ai.agent.name', bad),
        text('session.id', bad.slice(0, 200)),
        text('user.id', bad.slice(0, 200)),
        text('error.type', bad),
        text(bad.slice(0, 200), bad),
        text(
          'gen_ai.input.messages',
          JSON.stringify([{ role: bad, parts: [{ type: 'text', content: bad }] }]),
        ),
        text(
          'gen_ai.output.messages',
          said({ type: 'tool_call', id: bad, name: bad, arguments: { bad } }),
        ),
      ],
      events: [{ name: bad, timeUnixNano: at(1), attributes: [text(bad.slice(0, 200), bad)] }],
      status: { code: 2, message: bad },
    },
  )

const answers = (content: string): OtlpSpan =>
  span(
    1,
    {},
    {
      attributes: [
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.output.messages', said({ type: 'text', content })),
      ],
    },
  )

/** What a sender may send, and a note that tells of it. */
const CASES: readonly (readonly [
  what: string,
  spans: readonly OtlpSpan[],
  note: string | RegExp,
])[] = [
  ['script tags everywhere', [everywhere(SCRIPT)], '&lt;script&gt;alert(1)'],
  ['control codes of terminals everywhere', [everywhere(ANSI)], '␛[31mred␛[0m␇'],
  ['marks that turn the direction everywhere', [everywhere(TURNED)], 'abc⟨U+202E⟩dcba⟨U+2066⟩x'],
  ['broken Markdown', [answers(MARKDOWN)], 'open **bold'],
  ['a line of 5 MiB', [answers(LONG)], /262,\d{3} characters/],
  [
    'a picture in base64',
    [
      span(
        1,
        {},
        {
          attributes: [
            text('gen_ai.operation.name', 'chat'),
            text(
              'gen_ai.output.messages',
              said({ type: 'blob', modality: 'image', mime_type: 'image/png', content: PICTURE }),
            ),
            text('llm.output_messages.0.message.role', 'assistant'),
            text('llm.output_messages.0.message.contents.0.message_content.type', 'image'),
            text(
              'llm.output_messages.0.message.contents.0.message_content.image.image.url',
              PICTURE,
            ),
            text('picture', PICTURE),
          ],
        },
      ),
    ],
    'characters</summary>',
  ],
  [
    'a circle',
    [span(1, { parent: 2 }), span(2, { parent: 1 }), span(3, { parent: 3 })],
    'This trace has 2 circles of spans.',
  ],
  ['a parent that is missing', [span(1, { parent: 99 })], '1 span whose parent is not stored'],
  ['two roots', [span(1, {}), span(2, { from: 50 })], '2 spans without a parent'],
  [
    'a child before its parent, by another clock',
    [span(1, { from: 50 }), span(2, { parent: 1, from: 0, to: 20 })],
    '1 span outside the time of their parent',
  ],
  ['an end before its start', [span(1, { from: 50, to: 10 })], '1 span that ends before it starts'],
  ['no end', [span(1, { to: null })], 'Running'],
  ['no name', [span(1, {}, { name: '' })], '(no name)'],
]

/** Bytes: more than any page needs for what it shows. */
const PAGE_MAX = 1 << 20
const UNSAFE = [
  /<script(?! type="module" src="\/assets\/)/,
  /<img(?! class="mark" src="\/assets\/)/,
  /<b>x/,
  /href="javascript/i,
  /src="(data|https?):/,
]
/** What `visibleText` leaves in no text is in no page. */
const unsafeIn = (page: string): string[] => [
  ...UNSAFE.flatMap((pattern) => pattern.exec(page)?.[0] ?? []),
  ...(hasInvisible(page.replaceAll('\r', '')) ? ['a character that is hidden'] : []),
]

describe('pages about traces', () => {
  let traced: TracedApp
  const ids = CASES.map(() => freshTraceId())

  beforeAll(async () => {
    traced = await openTracedApp()
    for (const [place, [what, spans]] of CASES.entries()) {
      const traceId = ids[place] ?? ''
      const name = what.includes('everywhere') ? (spans[0]?.name ?? '') : 'service'
      const resource = { attributes: [text('service.name', name)] }
      await traced.send(
        traced.platform.acme,
        spans.map((each) => ({ ...each, traceId })),
        resource,
      )
    }
    await traced.collector.rolledUp()
  })

  afterAll(() => traced.close())

  const read = async (path: string, status = 200): Promise<string> => {
    const answer = await traced.get(traced.platform.acme, path)
    const page = await answer.text()
    expect([path, answer.status]).toEqual([path, status])
    expect(page.length, path).toBeLessThan(PAGE_MAX)
    expect([path, unsafeIn(page)]).toEqual([path, []])
    return page
  }

  it.each(CASES.map(([what, spans, note], place) => ({ what, spans, note, place })))(
    'show $what as text, bounded, with a note',
    async ({ spans, note, place }) => {
      const path = `/traces/${ids[place]}`
      expect(await read(path)).toMatch(note)
      for (const { spanId } of spans) await read(`${path}?span=${spanId}`)
      const other = ids[(place + 1) % ids.length]
      await read(`/trace-comparison?trace=${ids[place]}&trace=${other}`)
      const { rows } = (await (await traced.get(traced.platform.acme, `${path}/rows`)).json()) as {
        rows: unknown[]
      }
      expect(rows).toHaveLength(spans.length)
    },
  )

  it('close what is below spans of a kind, without a script', async () => {
    const path = `/traces/${ids[CASES.findIndex(([what]) => what === 'a circle')]}`
    const count = async (query: string): Promise<number> =>
      (await read(path + query)).split('id="span-0').length - 1
    expect([await count(''), await count('?fold=span'), await count('?critical=1')]).toEqual([
      3, 2, 0,
    ])
  })

  it('list them, with every column, and what they add up to', async () => {
    const columns = ['duration', 'models', 'agents', 'service', 'session', 'user', 'spans', 'cost']
    const list = await read(`/traces?${columns.map((each) => `column=${each}`).join('&')}`)
    expect(list).toContain('␛[31mred␛[0m␇')
    expect(list).toContain('abc⟨U+202E⟩dcba')
    for (const path of ['/sessions', '/usage?by=model', '/trace-comparison']) await read(path)
    await read(`/trace-comparison?trace=${ids[0]}`)
    const bad = encodeURIComponent(SCRIPT)
    expect(await read(`/traces?session=${bad}`)).toContain('&lt;script&gt;')
    await read(`/trace-comparison?trace=${ids[0]}&trace=${bad}`, 422)
  })

  it.each([
    ['text=ab', 'text', 'at least 3 letters'],
    ['status=<b>x', 'status', 'status must be ok, error, running, incomplete (given: “&lt;b&gt;x'],
    ['window=9y', 'window', 'window must be 1h, 24h'],
    ['min_duration_ms=-1', 'min_duration_ms', 'min_duration_ms must be'],
    ['min_tokens=1e99', 'min_tokens', 'min_tokens must be a whole number'],
    ['min_cost_usd=much', 'min_cost_usd', 'an amount of US dollars'],
    ['attribute=tier', 'attribute', 'a key and a value such as tier=gold'],
    [`session=${'x'.repeat(600)}`, 'session', '1 to 512 characters'],
  ])('tell at its field what is wrong with %s', async (query, field, problem) => {
    const page = await read(`/traces?${query}`, 422)
    const control = new RegExp(`id="filter-${field}"[^>]*aria-invalid="true"`).exec(page)
    expect(control).not.toBeNull()
    expect(page.split(`id="${field}-problem"`)[1]?.slice(0, 300)).toContain(problem)
  })

  it('say what is wrong with a place in a list that is none', async () => {
    expect(await read('/traces?cursor=nonsense', 422)).toContain('cursor must be')
  })

  it('say what to set where no collector is configured, and have no entry for them', async () => {
    const { platform } = traced
    const { cookie } = await platform.signIn(platform.acme)
    for (const path of ['/traces', '/sessions', '/usage', '/trace-export', '/trace-comparison']) {
      const answer = await platform.app.request(path, { headers: { cookie, accept: 'text/html' } })
      const page = await answer.text()
      expect([path, answer.status]).toEqual([path, 404])
      expect(page).toContain('collector.enabled=true')
      expect(page).not.toContain('<a href="/traces"')
    }
    expect(await read('/sessions')).toMatch(/href="\/traces"\s+aria-current="page"/)
  })

  it('says where to go to who asks for a trace by another word', async () => {
    const answer = await traced.get(traced.platform.acme, '/traces/usage')
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('what all traces used at /usage')
  })
})
