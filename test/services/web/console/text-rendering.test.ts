import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markdownToHtml } from '../../../../services/web/console/frame/text/text-view.ts'
import { formatOf, indentJson } from '../../../../services/web/console/frame/text/text-format.ts'
import { jsonTree } from '../../../../services/web/console/frame/text/json-tree.ts'
import { renderText } from '../../../../services/web/console/frame/text/text-view.ts'
import { visibleText } from '../../../../services/web/console/frame/text/visible-text.ts'

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<a href="javascript:alert(1)">x</a>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](java\nscript:alert(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](vbscript:msgbox)',
  '[x](/sign-out)',
  '[x]()',
  '[x](//evil.test)',
  '<javascript:alert(1)>',
  '![x](https://evil.test/pixel.png)',
  '![x](javascript:alert(1))',
  '[x]: javascript:alert(1)\n[x]',
  '```"><script>alert(1)</script>\ncode\n```',
  '[x](https://ok.test "onmouseover=alert(1)")',
  '[x](https://ok.test" onmouseover="alert(1))',
  '| a |\n| :-: |\n| <b onclick=x>b</b> |',
  '# <style>*{display:none}</style>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<!-- --><iframe src=//evil.test></iframe>',
]

/** The tags that a rendered text has, each with its attributes. */
const tagsOf = (text: string): string[] => text.match(/<[a-z][^>]*>/gi) ?? []

const PLAIN = new RegExp(
  '^<(?:a|p|br|strong|em|s|ul|ol|li|h[3-6]|blockquote|pre|code|hr|table|thead|tbody|tr|th|td)' +
    '(?: start="\\d+")?(?: class="(?:number|language-[^"<>]*)")?>$',
)
const LINK = new RegExp(
  '^<a href="(?:https?://|mailto:)[^"<>]*"(?: title="[^"<>]*")?' +
    ' rel="noopener noreferrer nofollow" target="_blank">$',
)

function expectHarmless(text: string): void {
  for (const tag of tagsOf(markdownToHtml(text)))
    expect(tag).toSatisfy((each: string) => PLAIN.test(each) || LINK.test(each))
}

describe('Markdown that a model wrote', () => {
  it.each(HOSTILE)('is harmless: %s', (text) => expectHarmless(text))

  it('is harmless whatever it holds', () => {
    const piece = fc.oneof(
      fc.constantFrom(...HOSTILE, '[', ']', '(', ')', '<', '>', '"', '`', '\n', '#', '|', '&', '*'),
      fc.string(),
    )
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
    fc.assert(fc.property(text, expectHarmless), { numRuns: 300 })
  })

  it('becomes headings below those of the page, lists, tables and links', () => {
    const text = '# Title\n\n#### Deep\n\n- one\n- two\n\n[a](https://example.com) ~~b~~'
    const page = markdownToHtml(text)
    expect(page).toContain('<h3>Title</h3>\n<h4>Deep</h4>')
    expect(page).toContain('<li>one</li>')
    expect(page).toContain('<a href="https://example.com" rel="noopener noreferrer nofollow"')
    expect(markdownToHtml('| n |\n| --: |\n| 1 |')).toContain('<td class="number">1</td>')
    expect(markdownToHtml('a line\nand another')).toContain('a line<br>\nand another')
    expect(markdownToHtml('see https://example.com/x')).toContain('<a href="https://example.com/x"')
  })

  it('shows an image as a link, and tags as text', () => {
    expect(markdownToHtml('![chart](https://example.com/c.png)')).not.toContain('<img')
    expect(markdownToHtml('1 <b>2</b>')).toContain('1 &lt;b&gt;2&lt;/b&gt;')
  })
})

describe('JSON that a model wrote', () => {
  it('is indented without a change to any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(fc.string(), fc.json()), fc.array(fc.json())), (value) => {
        const text = JSON.stringify(value)
        const indented = indentJson(text)
        expect(JSON.parse(indented)).toEqual(JSON.parse(text))
        expect(indented).toBe(JSON.stringify(JSON.parse(text), null, 2))
      }),
    )
  })

  it('keeps what a JavaScript value could not', () => {
    expect(indentJson('{"a":12345678901234567890,"a":1.0,"b":"\\u00e9"}')).toBe(
      '{\n  "a": 12345678901234567890,\n  "a": 1.0,\n  "b": "\\u00e9"\n}',
    )
    expect(indentJson('[ ]')).toBe('[]')
  })

  it('is text on the page', async () => {
    expect(await renderText('{"a":"</code><script>"}')).not.toContain('<script>')
  })
})

describe('the tree of JSON', () => {
  const shown = async (text: string): Promise<string> =>
    String(await jsonTree(text)).replace(/<[^>]*>/g, '\u0000')
  const decode = (text: string): string =>
    text
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')

  it('has every value and every key, as it was written, and no tag of theirs', () =>
    fc.assert(
      fc.asyncProperty(fc.oneof(fc.constantFrom(...HOSTILE), fc.json()), async (given) => {
        const text = JSON.stringify({ [given]: [given, { a: 1.5 }, [], null] })
        const tree = await shown(text)
        const name = visibleText(JSON.stringify(given))
        const pieces = decode(tree)
          .split('\u0000')
          .map((piece) => piece.trim())
        if (name.length < 300) expect(pieces).toContain(name)
        expect(pieces).toContain(name.slice(1, -1).trim())
        expect(pieces).toEqual(expect.arrayContaining(['a', '1.5', '[]', 'null']))
        expect(tree).not.toContain('<')
      }),
      { numRuns: 100 },
    ))

  it('keeps numbers and repeated keys, folds long texts, and shows what is hidden', async () => {
    const tree = await shown('{"n":12345678901234567890,"a":1.0,"a":2,"t":"\u202etxt"}')
    expect(tree).toMatch(/12345678901234567890[\s\S]*1\.0[\s\S]*2/)
    expect(tree).toContain('⟨U+202E⟩txt')
    const long = String(await jsonTree(JSON.stringify(['x'.repeat(5000)])))
    expect(long).toMatch(/<details>\s*<summary>.*x{40}…/)
  })

  it('is as large as a page bears, however many and deep the values are', async () => {
    const many = String(await jsonTree(JSON.stringify(Array.from({ length: 5000 }, () => 1))))
    expect(many).toContain('<pre')
    const most = JSON.stringify(Array.from({ length: 900 }, (_, index) => ({ index })).flat())
    expect(String(await jsonTree(most)).length).toBeLessThan(300_000)
    const deep = String(await jsonTree(`${'['.repeat(900)}1${']'.repeat(900)}`))
    expect(deep.match(/<details/g)).toHaveLength(13)
    expect(deep).toContain('1')
  })
})

describe('the format of a text', () => {
  it.each([
    ['{"a":1}', 'json'],
    [' [1, 2]\n', 'json'],
    ['{not json}', 'markdown'],
    ['42', 'markdown'],
    ['# Title', 'markdown'],
    ['x'.repeat(300_000), 'plain'],
  ])('of %.20s is %s', (text, format) => {
    expect(formatOf(text)).toBe(format)
  })

  it('is found in time, however the text is nested', async () => {
    for (const text of ['['.repeat(100_000), '> '.repeat(50_000), '*_'.repeat(50_000)]) {
      expect((await renderText(text)).length).toBeGreaterThan(0)
    }
  })

  it('is indented so far only that JSON of any depth stays small', () => {
    const deepest = 100_000
    const text = '['.repeat(deepest) + ']'.repeat(deepest)
    expect(formatOf(text)).toBe('json')
    expect(indentJson(text).length).toBeLessThan(50 * text.length)
  })
})
