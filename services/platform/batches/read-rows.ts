import { AppError } from '../../shared/errors.ts'
import { parseStrictJson } from '../../shared/http/strict-json.ts'
import { isObject } from '../../shared/is-object.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { createInputResolver, inputFields, readInputTexts } from '../definitions/crew-inputs.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import { filesNamed } from '../runs/prepare-inputs.ts'
import type { NamedFile } from '../runs/prepare-inputs.ts'
import { readCsv } from './csv.ts'

/** The most rows of a batch. */
export const ROWS_MAX = 100_000
/** The most bytes of a file with rows. */
export const ROWS_BYTES_MAX = 32 * 1024 * 1024
const ROW_CHARACTERS_MAX = 64 * 1024
const COLUMNS_MAX = 200
const KEY_CHARACTERS_MAX = 200
const PROBLEMS_MAX = 20

/** How rows are written: as lines of JSON, or as comma-separated values with a header. */
export const ROW_FORMATS = ['jsonl', 'csv'] as const
/** How rows are written. */
export type RowFormat = (typeof ROW_FORMATS)[number]

/** A row with the inputs of its run. */
export interface BatchRow {
  /** By which the caller identifies it; of a row without one, its number. */
  readonly key: string
  readonly inputs: Inputs
  /** Where it is in what was sent. */
  readonly line: number
  /** The files that its inputs name, which may not be there. */
  readonly files: readonly NamedFile[]
}

/** What is sent, and what it is for. */
export interface SentRows {
  readonly content: Uint8Array
  readonly format: RowFormat
  /** What in a row identifies it. @default `id` */
  readonly keyName: string
  readonly definition: CrewDefinition
}

/** What is wrong with a line. */
export interface Problem {
  readonly line: number
  readonly problem: string
}

type Line = { readonly line: number; readonly given: Inputs } | Problem

/**
 * Reads the rows of a batch, one at a time. Behind the first problem no more rows are returned;
 * at the end, or when there are 20, raises `unprocessable` with all of them in `details.problems`.
 */
export function* readRows(sent: SentRows): Generator<BatchRow> {
  const problems: Problem[] = []
  const read = createRowReader(sent)
  let count = 0
  for (const line of readLines(sent)) {
    count += 1
    if (count > ROWS_MAX) problems.push(aboveMost(line))
    if (problems.length === PROBLEMS_MAX || count > ROWS_MAX) break
    const row: BatchRow | Problem = 'problem' in line ? line : read(line, count)
    if ('problem' in row) problems.push(row)
    else if (problems.length === 0) yield row
  }
  if (count === 0) throw new AppError('unprocessable', 'There are no rows: send one at least.')
  if (problems.length > 0) throw refused(problems)
}

const aboveMost = ({ line }: { readonly line: number }): Problem => ({
  line,
  problem: `begins row ${ROWS_MAX + 1}: a batch has at most ${ROWS_MAX} rows`,
})

const SHOWN = 5

/** Builds the refusal of rows: the first 20 that are wrong are in `details.problems`. */
export function refused(all: readonly Problem[]): AppError {
  const problems = all.slice(0, PROBLEMS_MAX)
  const shown = problems.slice(0, SHOWN).map(({ line, problem }) => `Line ${line} ${problem}.`)
  const more = problems.length > SHOWN ? ` There are ${problems.length - SHOWN} more at least.` : ''
  return new AppError('unprocessable', `Nothing was started. ${shown.join(' ')}${more}`, {
    details: { problems },
  })
}

function createRowReader({ definition, keyName }: SentRows) {
  const resolve = createInputResolver(definition)
  const isInput = inputFields(definition).some(({ name }) => name === keyName)
  const lineOf = new Map<string, number>()

  return function read(
    { line, given }: { readonly line: number; readonly given: Inputs },
    number: number,
  ): BatchRow | Problem {
    const { [keyName]: named, ...others } = given
    const key = named === undefined || named === '' ? String(number) : toKey(named)
    const wrong = keyProblem(key, lineOf)
    if (key === undefined || wrong !== undefined) {
      return { line, problem: `${wrong} (${keyName})` }
    }
    lineOf.set(key, line)
    try {
      const inputs = resolve(isInput ? given : others)
      return { key, inputs, line, files: filesNamed(definition, inputs) }
    } catch (thrown) {
      return problemOf(thrown, line)
    }
  }
}

/** Returns what was wrong with a line. Raises what is no refusal. */
export function problemOf(thrown: unknown, line: number): Problem {
  if (thrown instanceof AppError) return { line, problem: `is refused: ${thrown.message}` }
  throw thrown
}

const toKey = (named: unknown): string | undefined =>
  typeof named === 'string' || typeof named === 'number' ? String(named) : undefined

function keyProblem(key: string | undefined, lineOf: ReadonlyMap<string, number>) {
  if (key === undefined || key.length > KEY_CHARACTERS_MAX || key.includes('\0')) {
    return `has a key that is not a text of at most ${KEY_CHARACTERS_MAX} characters`
  }
  const before = lineOf.get(key)
  return before === undefined ? undefined : `has the key of line ${before}`
}

const readLines = (sent: SentRows): Iterable<Line> =>
  sent.format === 'csv' ? readCsvLines(sent) : readJsonLines(decode(sent.content))

/** Decodes UTF-8, with or without a byte order mark. */
function decode(content: Uint8Array): string {
  const [first, second] = content
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  try {
    if (!isWide) return new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    // It is said below.
  }
  const what = isWide ? 'in UTF-16' : 'not in UTF-8'
  throw new AppError('unprocessable', `The file is ${what}. Save it as UTF-8, uncompressed.`)
}

function* readJsonLines(text: string): Generator<Line> {
  let line = 0
  for (let at = 0; at < text.length;) {
    line += 1
    const end = text.indexOf('\n', at)
    const next = end === -1 ? text.length : end
    const written = text.slice(at, next)
    at = next + 1
    if (written.length > ROW_CHARACTERS_MAX) {
      yield { line, problem: `has more than ${ROW_CHARACTERS_MAX} characters` }
    } else if (written.trim() !== '') yield readJsonLine(written, line)
  }
}

function readJsonLine(written: string, line: number): Line {
  try {
    const given = parseStrictJson(Buffer.from(written), 'It')
    return isObject(given) ? { line, given } : { line, problem: 'is not an object of inputs' }
  } catch (thrown) {
    return problemOf(thrown, line)
  }
}

/** Cells are texts: each is read as the type of its input. */
function* readCsvLines({ content, keyName, definition }: SentRows): Generator<Line> {
  const records = readCsv(decode(content), { cells: COLUMNS_MAX, characters: ROW_CHARACTERS_MAX })
  const first = records.next()
  if (first.done) return
  const head = first.value
  if ('problem' in head) return yield head
  const names = head.cells
  const fields = inputFields(definition)
  const problem = headProblem(names, {
    known: new Set([keyName, ...fields.map(({ name }) => name)]),
    isOpen: isOwnCrew(definition),
  })
  if (problem !== undefined) return yield { line: head.line, problem }
  const typed = fields.filter(({ name }) => names.includes(name))
  const declared = new Set(typed.map(({ name }) => name))
  for (const record of records) {
    if ('problem' in record) return yield record
    const { line, cells } = record
    if (cells.length === names.length) {
      const texts = new Map(names.map((name, index) => [name, cells[index] ?? '']))
      const others = [...texts].filter(([name]) => !declared.has(name))
      const read = readInputTexts(typed, (name) => texts.get(name) ?? '')
      yield { line, given: { ...Object.fromEntries(others), ...read } }
    } else yield { line, problem: `has ${cells.length} cells, and the header ${names.length}` }
  }
}

function headProblem(
  names: readonly string[],
  { known, isOpen }: { readonly known: ReadonlySet<string>; readonly isOpen: boolean },
): string | undefined {
  if (names.some((name) => name.trim() === ''))
    return 'is the header, and has a column without name'
  if (new Set(names).size < names.length) return 'is the header, and has a column twice'
  const unknown = isOpen ? undefined : names.find((name) => !known.has(name))
  if (unknown === undefined) return undefined
  const shown = JSON.stringify(unknown.slice(0, 64))
  return `is the header, and has ${shown}, which is no input. Known: ${[...known].join(', ')}`
}
