import { didYouMean } from '../../shared/closest.ts'
import { answer, RESULT_CHARACTERS_MAX, toolError } from '../tools/tool.ts'
import type { CrewTool } from '../tools/tool.ts'

/** The text of a file. */
export interface FileText {
  readonly text: string
  /** How much of a document it is, such as `12 pages`; empty for what is no document. */
  readonly extent: string
}

/** What is read by one call, unless it says otherwise. */
export const READ_CHARACTERS = 16_384
/** Room for the line that says what was read. */
const READ_CHARACTERS_MAX = RESULT_CHARACTERS_MAX - 500

/** Creates the tool that reads the text files of a run, a part at a time. */
export const createReadFile = (name: string, texts: Texts): CrewTool => ({
  name,
  key: name,
  type: 'read_file',
  description:
    'Reads a part of a text file of this run. Files, with their lengths in characters: ' +
    `${namesOf(texts)}.`,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the file' },
      offset: { type: 'integer', minimum: 0, description: 'The first character; 0 by default' },
      page: {
        type: 'integer',
        minimum: 1,
        description: 'In place of offset: the first page, sheet or slide of a document',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: READ_CHARACTERS_MAX,
        description: `How many characters; ${READ_CHARACTERS} by default`,
      },
    },
    required: ['name'],
    additionalProperties: false,
  },
  timeoutMs: 1000,
  async call({ arguments: { name: file, offset = 0, page, limit = READ_CHARACTERS } }) {
    const text = textOf(texts, String(file))
    const start = page === undefined ? Number(offset) : startOf(text, Number(page))
    return answer(readPart(text.text, { offset: start, limit: Number(limit) }))
  },
})

type Texts = ReadonlyMap<string, FileText>

/** Returns the names of files with their lengths. */
export const namesOf = (texts: Texts): string =>
  [...texts]
    .map(
      ([file, { text, extent }]) => `${file} (${[text.length, extent].filter(Boolean).join(', ')})`,
    )
    .join(', ')

/** Moves the end of a part so that it does not fall between the halves of a character. */
export const wholeEnd = (text: string, end: number): number =>
  /[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(end - 1, end + 1))
    ? end + 1
    : Math.min(end, text.length)

/** Returns the text of a file. Raises `bad_gateway` for one that is not there. */
export function textOf(texts: Texts, file: string): FileText {
  const text = texts.get(file)
  if (text !== undefined) return text
  const names = [...texts.keys()]
  const near = didYouMean(file, names)
  throw toolError(`There is no file ${file.slice(0, 255)}.${near} Known: ${names.join(', ')}.`)
}

/** Parts of a document begin with a line that has their number: `[Page 3]`, `[Sheet 1: Sales]`. */
function startOf({ text, extent }: FileText, page: number): number {
  const start = extent === '' ? -1 : text.search(new RegExp(`^\\[\\w+ ${page}[\\]:]`, 'm'))
  if (start >= 0) return start
  throw toolError(`There is no page ${page}: the file has ${extent || 'no numbers of pages'}.`)
}

/** Reads a part of a text, and says which one. Raises `bad_gateway` past its end. */
export function readPart(
  text: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): string {
  if (offset >= text.length) {
    throw toolError(`The file has ${text.length} characters; the offset is ${offset}.`)
  }
  const end = wholeEnd(text, offset + limit)
  const more = end < text.length ? ` Read on with offset ${end}.` : ' This is the end.'
  return `${text.slice(offset, end)}\n\n(Characters ${offset} to ${end} of ${text.length}.${more})`
}
