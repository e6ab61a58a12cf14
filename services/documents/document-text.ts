import { DOCUMENT_LIMITS } from '../shared/documents/limits.ts'

/** What the parts of a document are called. */
type Unit = 'page' | 'sheet' | 'slide'

/** The text of a document. */
export interface DocumentText {
  /** Each part begins with a line that says which it is: `[Page 3]`. */
  readonly text: string
  readonly unit: Unit
  /** How many it has; 0 where the document does not say. */
  readonly pages: number
}

/** A document that cannot be read; its message goes on a sentence: `The file x …`. */
export class Refusal extends Error {}

/** Creates the refusal of a document that is not what it says. */
export const damaged = (why: string): Refusal => new Refusal(`is damaged: ${why}`)

/** Collects the text of a document, within its bounds. */
export interface TextWriter {
  /** Adds a part of the text as it is. */
  add(text: string): void
  /** Ends the line, unless the text is at the beginning of one. */
  endLine(): void
  /** Begins the next page, sheet or slide; `title` says more of it. */
  begin(title?: string): void
  /** Returns all of it; `isDivided` is false for one page that is perhaps none. */
  end(isDivided?: boolean): DocumentText
}

/** Creates what collects the text of a document. Its parts raise a `Refusal` for too much. */
export function createTextWriter(unit: Unit): TextWriter {
  const { pages: pagesMax, characters: charactersMax } = DOCUMENT_LIMITS
  const label = `${unit[0]?.toUpperCase()}${unit.slice(1)}`
  const parts: string[] = []
  let [length, pages, isInLine] = [0, 0, false]

  function add(text: string): void {
    if (text === '') return
    length += text.length
    if (length > charactersMax) {
      throw new Refusal(`has more than ${charactersMax} characters: send a part of it`)
    }
    parts.push(text)
    isInLine = !text.endsWith('\n')
  }

  const endLine = (): void => {
    if (isInLine) add('\n')
  }

  return {
    add,
    endLine,
    begin(title) {
      pages += 1
      if (pages > pagesMax) throw tooManyPages(unit)
      endLine()
      add(
        `${pages === 1 ? '' : '\n'}[${label} ${pages}${title === undefined ? '' : `: ${title}`}]\n`,
      )
    },
    end(isDivided = true) {
      if (isDivided) return { text: clean(parts.join('')), unit, pages }
      return { text: clean(parts.slice(1).join('')), unit, pages: 0 }
    },
  }
}

/** Creates the refusal of a document with too many parts. */
export const tooManyPages = (unit: Unit, pages?: number): Refusal =>
  new Refusal(
    `has ${pages ?? `more than ${DOCUMENT_LIMITS.pages}`} ${unit}s; at most ` +
      `${DOCUMENT_LIMITS.pages} are read: send a part of it`,
  )

/** Without halves of characters, those that no database keeps, and empty ends of lines. */
const clean = (text: string): string =>
  Buffer.from(text)
    .toString()
    .replace(/(?![\t\n])\p{Cc}/gu, '')
    .replace(/ +(?=\t)|[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
