import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toPassages } from '../../../services/crew/material/passages.ts'
import { createSearch } from '../../../services/crew/material/search.ts'

const passagesOf = (...texts: string[]) =>
  texts.map((text, index) => ({ source: `t${index}`, offset: 0, text }))
const search = (texts: string[], query: string, limit = 10) =>
  createSearch(passagesOf(...texts))(query, limit).map(({ passage }) => passage.source)

describe('passages of a text', () => {
  it('end at empty lines, where short paragraphs are joined', () => {
    const [short, long] = ['x'.repeat(300), 'y'.repeat(700)]
    const text = `# Title\n\n${short}\n\n \n${short}\r\n\r\n${long}\n`
    const passages = toPassages('t', text)
    expect(passages.map((each) => each.text.replace(/\s+/g, ' '))).toEqual([
      `# Title ${short} ${short}`,
      long,
    ])
    expect(passages.map(({ source }) => source)).toEqual(['t', 't'])
  })

  it('end after a sentence or a word where a paragraph is long', () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. '
    const [first] = toPassages('t', sentence.repeat(100))
    expect(first?.text.length).toBeGreaterThan(1500)
    expect(first?.text).toMatch(/dog\.$/)
    const [words] = toPassages('t', 'word '.repeat(1000))
    expect(words?.text).toMatch(/word$/)
    expect(toPassages('t', 'x'.repeat(4000)).map(({ text }) => text.length)).toEqual([
      1600, 1600, 800,
    ])
  })

  it('are parts of the text in their order, and leave nothing out', () => {
    const word = fc.constantFrom('a', 'be. ', '\n', '\n\n', ' ', 'x'.repeat(900), '\u{1F600}', '\r')
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), (words) => {
        const text = words.join('')
        const passages = toPassages('t', text)
        const visible = (of: string): string => of.replace(/\s+/g, '')
        expect(visible(passages.map((each) => each.text).join(''))).toBe(visible(text))
        for (const { text: part, offset } of passages) {
          expect(part.length).toBeLessThanOrEqual(1600)
          expect(part.trim()).not.toBe('')
          expect(text.slice(offset).trimStart().startsWith(part)).toBe(true)
          expect(part).not.toMatch(/\p{Surrogate}/u)
        }
      }),
    )
  })

  it('of 1 MiB are made and searched, whatever it looks like', () => {
    for (const piece of ['x', 'x ', 'x\n', 'x\n\n', ' ', '\n', '日']) {
      const passages = toPassages('t', piece.repeat(1_048_576 / piece.length))
      expect(createSearch(passages)('x 日', 3).length).toBeLessThanOrEqual(3)
    }
  })
})

describe('a search', () => {
  it.each<[string, string[], string, string[]]>([
    ['a passage with more of the words first', ['cat', 'cat dog', 'cow'], 'cat dog', ['t1', 't0']],
    [
      'a rare word before a frequent one',
      ['the a', 'the', 'the', 'refund'],
      'the refund',
      ['t3', 't1', 't2', 't0'],
    ],
    ['a short passage before a long one', ['refund a b c d', 'refund'], 'refund', ['t1', 't0']],
    ['words without case and accents', ['Über Zürich'], 'uber ZURICH', ['t0']],
    ['whole words only', ['refunds', 'refund'], 'refund', ['t1']],
    ['numbers', ['error 4711', 'error 42'], '4711', ['t0']],
    ['languages without spaces', ['退款政策', '天气'], '退款', ['t0']],
    ['nothing for words that are nowhere', ['a', 'b'], 'c', []],
    ['nothing for no words', ['a'], '?!', []],
    ['nothing in nothing', [], 'a', []],
  ])('finds %s', (_, texts, ...[query, sources]) => {
    expect(search(texts, query)).toEqual(sources)
  })

  it('finds as many as are asked for, in the order of the text where they are equal', () => {
    expect(search(['a', 'a', 'a'], 'a', 2)).toEqual(['t0', 't1'])
  })
})
