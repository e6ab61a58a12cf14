/** Shorter paragraphs are joined up to this length, in characters. */
const JOINED_MAX = 800
/** Longer ones are split. */
const PASSAGE_MAX = 1600

/** A part of a text that is found as a whole. */
export interface Passage {
  /** The name of the text. */
  readonly source: string
  /** Its first character in the text. */
  readonly offset: number
  readonly text: string
}

/** Splits a text into passages of at most 1,600 characters, at empty lines where there are any. */
export function toPassages(source: string, text: string): Passage[] {
  const passages: Passage[] = []
  let open: { readonly start: number; readonly end: number } | undefined
  const close = (): void => {
    if (open) passages.push(...split(source, text, open))
    open = undefined
  }
  for (const { start, end } of paragraphsOf(text)) {
    if (open && end - open.start > JOINED_MAX) close()
    open = { start: open?.start ?? start, end }
  }
  close()
  return passages
}

interface Range {
  readonly start: number
  readonly end: number
}

/** Runs of lines that are not empty. */
function* paragraphsOf(text: string): Generator<Range> {
  let start: number | undefined
  for (let at = 0; at <= text.length;) {
    const found = text.indexOf('\n', at)
    const end = found === -1 ? text.length : found
    const isEmpty = text.slice(at, end).trim() === ''
    if (isEmpty && start !== undefined) {
      yield { start, end: at }
      start = undefined
    } else if (!isEmpty) start ??= at
    at = end + 1
  }
  if (start !== undefined) yield { start, end: text.length }
}

function split(source: string, text: string, { start, end }: Range): Passage[] {
  const parts: Passage[] = []
  for (let offset = start; offset < end;) {
    const next = end - offset <= PASSAGE_MAX ? end : breakBefore(text, offset, PASSAGE_MAX)
    const passage = text.slice(offset, next).trim()
    // A paragraph may hold a long row of spaces.
    if (passage !== '') parts.push({ source, offset, text: passage })
    offset = next
  }
  return parts
}

/** The best end of a passage: after a sentence, else a word, else in the middle of it. */
function breakBefore(text: string, offset: number, max: number): number {
  const part = text.slice(offset, offset + max)
  const sentence = Math.max(...['. ', '! ', '? ', '\n'].map((end) => part.lastIndexOf(end)))
  const at = sentence > max / 2 ? sentence + 1 : part.lastIndexOf(' ')
  if (at > max / 2) return offset + at
  // Never between the halves of a surrogate pair.
  return offset + (/[\uD800-\uDBFF]$/.test(part) ? max - 1 : max)
}
