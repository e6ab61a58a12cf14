import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isAllowed } from '../../../../services/shared/outgoing/allowed-places.ts'
import { calculate } from '../../../../services/crew/tools/calculator.ts'
import { htmlToText } from '../../../../services/crew/tools/html-text.ts'
import { queryJson } from '../../../../services/crew/tools/json-query.ts'
import { describeTime } from '../../../../services/crew/tools/time.ts'
import { toError } from '../../../../services/shared/errors.ts'

function messageOf(act: () => unknown): string {
  try {
    return `no error, but ${String(act())}`
  } catch (thrown) {
    return toError(thrown).message
  }
}

describe('the calculator', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(17.5 + 3) * 12 / 100', 2.46],
    ['-2 ^ 2', -4],
    ['2 ^ -1', 0.5],
    ['2 ^ 3 ^ 2', 512],
    ['2 ** 10', 1024],
    ['10 % 4', 2],
    ['1.5e3 + .5', 1500.5],
    ['max(1, 2, 3) - MIN(4, 5)', -1],
    ['sqrt(16) + ln(e) + cos(pi)', 4],
    ['--1', 1],
  ])('computes %s', (expression, value) => {
    expect(calculate(expression)).toBeCloseTo(value, 10)
  })

  it.each([
    ['', 'ends too early'],
    ['1 +', 'ends too early'],
    ['(1', 'ends too early'],
    ['1 2', 'cannot be read at 2'],
    ['2 $ 3', 'cannot be read at $ 3'],
    ['constructor', 'constructor is not known'],
    ['process.exit()', 'cannot be read at .exit()'],
    ['sqrt(1, 2)', 'sqrt takes one number'],
    ['1 / 0', 'not a finite number'],
    ['10 ^ 999', 'not a finite number'],
  ])('refuses %s', (expression, message) => {
    expect(messageOf(() => calculate(expression))).toContain(message)
  })

  it('refuses an expression that is too long or too deep', () => {
    expect(messageOf(() => calculate('('.repeat(500)))).toContain('nested too deeply')
    expect(messageOf(() => calculate('-'.repeat(500)))).toContain('nested too deeply')
    expect(messageOf(() => calculate('1'.repeat(1001)))).toContain('longer than 1000 characters')
  })

  it('computes what JavaScript does', () => {
    const number = fc.integer({ min: 1, max: 999 }).map(String)
    const { expression } = fc.letrec((tie) => ({
      expression: fc.oneof(
        { maxDepth: 6 },
        number,
        fc
          .tuple(tie('expression'), fc.constantFrom('+', '-', '*', '/', '%'), tie('expression'))
          .map(([left, sign, right]) => `(${String(left)} ${sign} ${String(right)})`),
        tie('expression').map((inner) => `-(${String(inner)})`),
      ),
    }))
    fc.assert(
      fc.property(expression, (given) => {
        const text = String(given)
        const expected = Number(runInNewContext(text))
        if (text.length <= 1000 && Number.isFinite(expected)) {
          expect(calculate(text)).toBe(expected)
        }
      }),
      { numRuns: 50 },
    )
  })
})

describe('the query of JSON', () => {
  it('finds the values at a JSONPath', () => {
    const shop = {
      items: [
        { price: 5, name: 'a' },
        { price: 20, name: 'b' },
      ],
    }
    expect(queryJson(shop, '$.items[?@.price < 10].name')).toEqual(['a'])
    expect(queryJson(shop, '$..price')).toEqual([5, 20])
    expect(queryJson(shop, '$.none')).toEqual([])
    const halves = [0, 0.5, -0.5, { '0.5': 'x' }]
    expect(queryJson(halves, '$[?@ == 0.5 || @ == -0.5 || @ == 0.0]')).toEqual([0, 0.5, -0.5])
    expect(queryJson(halves, "$[3]['0.5']")).toEqual(['x'])
  })

  it('says what is wrong with a path', () => {
    expect(messageOf(() => queryJson({}, '$['))).toContain('The path cannot be used: unclosed')
  })

  it('ends a path that would take for ever', () => {
    const hostile = { x: { a: `${'a'.repeat(40)}!` } }
    expect(messageOf(() => queryJson(hostile, '$..[?search(@.a, "(a+)+$")]'))).toContain(
      'takes longer than 1000 ms',
    )
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, at]))
    const nested = { a: many, b: { c: many } }
    expect(queryJson(nested, '$..*')).toHaveLength(203)
    expect(
      queryJson(
        Array.from({ length: 5000 }, () => 1),
        '$[*]',
      ),
    ).toHaveLength(1001)
  })
})

describe('the time', () => {
  it('is told in UTC and in a time zone', () => {
    expect(describeTime(new Date('2026-07-01T22:30:00Z'), 'Europe/Berlin')).toEqual({
      utc: '2026-07-01T22:30:00.000Z',
      timezone: 'Europe/Berlin',
      local: '2026-07-02 00:30:00',
      weekday: 'Thursday',
    })
  })

  it('names a zone that there is not', () => {
    expect(messageOf(() => describeTime(new Date(), 'Mars/Base'))).toContain(
      'Mars/Base is no time zone',
    )
  })
})

describe('a page as text', () => {
  it('keeps headings, lists, links and tables, and leaves out what nobody reads', () => {
    const page = `<!doctype html><head><title>x</title></head><body><h1>Hi &amp; you</h1>
      <script>if (a<b) x()</script><style>p { }</style><!-- no --><p>One
      <a href="/x?a=1&amp;b=2">link</a>, <a href="javascript:x()">no link</a> and<br>two
      <ul><li>a<li>b</ul><table><tr><td>1<td>2</table> 3 &lt; 4 &#x41;&#66; &unknown;`
    expect(htmlToText(page)).toBe(
      '# Hi & you\n\nOne [link](/x?a=1&b=2), no link and\ntwo\n\n- a\n- b\n\n| 1 | 2\n\n' +
        '3 < 4 AB &unknown;',
    )
  })

  it('reads whatever text there is to the end', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '<!--',
      '-->',
      '<a href="',
      '</',
      'script',
      '&#x;',
      ' x',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        expect(htmlToText(pieces.join(''))).toBeTypeOf('string')
      }),
      { numRuns: 200 },
    )
    expect(htmlToText('<script>'.repeat(50_000))).toBe('')
  })
})

describe('the places that a fetch may read', () => {
  const places = ['docs.test', '*.wiki.test', 'host.test:8443', 'https://site.test/help/']
  it.each([
    ['https://docs.test/a', true],
    ['http://docs.test/', true],
    ['https://DOCS.test./', false],
    ['https://docs.test:8443/', false],
    ['https://docs.test.evil.test/', false],
    ['https://evil.test/docs.test', false],
    ['https://docs.test@evil.test/', false],
    ['https://user@docs.test/', false],
    ['https://en.wiki.test/', true],
    ['https://wiki.test/', false],
    ['https://evilwiki.test/', false],
    ['https://host.test:8443/', true],
    ['https://site.test/help', true],
    ['https://site.test/help/a?b', true],
    ['https://site.test/helper', false],
    ['https://site.test/help/../admin', false],
    ['https://site.test/help/%2e%2e/admin', false],
    ['https://site.test/help/..%2fadmin', false],
    ['http://site.test/help/', false],
    ['ftp://docs.test/', false],
  ])('of %s: %s', (url, expected) => {
    expect(isAllowed(new URL(url), places)).toBe(expected)
  })
})
