import type { Passage } from './passages.ts'

/** The usual constants of BM25: how soon more of a word counts less, and how much length does. */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75
const QUERY_WORDS_MAX = 64

/** A passage, and how well it answers a query. */
interface Found {
  readonly passage: Passage
  readonly score: number
}

/** Finds the passages that answer a query best, at most `limit`. */
export type Search = (query: string, limit: number) => Found[]

/**
 * Creates a search by words (Okapi BM25): a passage counts more the more of the query's words it
 * has, the rarer these are, and the shorter it is. Words are compared as they are written, without
 * case and accents.
 */
export function createSearch(passages: readonly Passage[]): Search {
  const lengths: number[] = []
  const postings = new Map<string, Map<number, number>>()
  for (const [index, { text }] of passages.entries()) {
    const words = wordsOf(text)
    lengths.push(words.length)
    for (const word of words) {
      const counts = postings.get(word) ?? new Map<number, number>()
      counts.set(index, (counts.get(index) ?? 0) + 1)
      postings.set(word, counts)
    }
  }
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / passages.length
  return function search(query, limit) {
    const scores = new Map<number, number>()
    for (const word of [...new Set(wordsOf(query))].slice(0, QUERY_WORDS_MAX)) {
      const counts = postings.get(word)
      if (!counts) continue
      const rarity = Math.log(1 + (passages.length - counts.size + 0.5) / (counts.size + 0.5))
      for (const [index, count] of counts) {
        const relative = (lengths[index] ?? 0) / meanLength
        const norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative)
        const score = (rarity * count * (SATURATION + 1)) / (count + norm)
        scores.set(index, (scores.get(index) ?? 0) + score)
      }
    }
    return [...scores]
      .toSorted(([one, a], [other, b]) => b - a || one - other)
      .slice(0, limit)
      .flatMap(([index, score]) => {
        const passage = passages[index]
        return passage ? [{ passage, score }] : []
      })
  }
}

const WORD = /[\p{L}\p{N}]+/gu
/** Written without spaces: each two characters count as a word. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u

/** Returns the words of a text, as they are compared. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return (plain.match(WORD) ?? []).flatMap((word) => (UNSPACED.test(word) ? pairsOf(word) : word))
}

function pairsOf(word: string): string[] {
  const characters = Array.from(word)
  if (characters.length === 1) return characters
  return characters.slice(1).map((second, index) => `${characters[index]}${second}`)
}
