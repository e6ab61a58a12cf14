import * as v from 'valibot'
import { csvRow, readCsv } from '../../shared/csv.ts'
import { closedObject, describeIssue } from '../../shared/describe-issue.ts'
import { AppError } from '../../shared/errors.ts'
import { parseStrictJson } from '../../shared/http/strict-json.ts'
import { isObject } from '../../shared/is-object.ts'
import { someText, textUpTo } from '../../shared/schemas.ts'
import { CASE_CHARACTERS_MAX, CASE_NAME_MAX } from './cases.ts'
import type { CaseFields } from './cases.ts'

/** A case, as JSON has it. */
export const caseBody = closedObject({
  name: v.optional(v.nullable(someText(CASE_NAME_MAX)), null),
  inputs: v.pipe(
    v.unknown(),
    v.check(isObject, 'must be an object'),
    v.record(v.string(), v.unknown()),
    v.check(
      (inputs) => JSON.stringify(inputs).length <= CASE_CHARACTERS_MAX,
      `must have at most ${CASE_CHARACTERS_MAX} characters as JSON`,
    ),
  ),
  expected: v.optional(v.nullable(textUpTo(CASE_CHARACTERS_MAX)), null),
})

/** Reads cases of JSON lines, one by one. Raises `invalid_request` and `unprocessable`. */
export function* readJsonLines(bytes: Uint8Array): Generator<CaseFields> {
  const [newline, end] = ['\n'.charCodeAt(0), bytes.length]
  for (let line = 1, from = 0; from < end; line += 1) {
    const found = bytes.indexOf(newline, from)
    const to = found < 0 ? end : found
    const text = bytes.subarray(from, to)
    from = to + 1
    if (text.every((byte) => byte <= 0x20)) continue
    yield toCase(parseStrictJson(text, `Line ${line}`), line)
  }
}

/**
 * Reads cases of CSV, one by one: the columns `name` and `expected`, and each other one for an
 * input. `jsonInputs` are the inputs whose values are JSON. Raises `invalid_request` and
 * `unprocessable`.
 */
export function* readCsvCases(
  bytes: Uint8Array,
  jsonInputs: ReadonlySet<string>,
): Generator<CaseFields> {
  const rows = readCsv(decode(bytes))
  const head = rows.next().value ?? undefined
  const names = head ? head.cells.map((each) => each.trim()) : []
  if (names.length === 0 || names.includes('') || new Set(names).size < names.length) {
    throw new AppError('invalid_request', 'The first line of the CSV must name each column, once.')
  }
  for (const { line, cells } of rows) {
    if (cells.length !== names.length) {
      const counts = `${cells.length} cells, and the first line ${names.length}`
      throw new AppError('invalid_request', `Line ${line} of the CSV has ${counts}.`)
    }
    const values = new Map(names.map((name, index) => [name, cells[index] ?? '']))
    const [name, expected] = [values.get('name') || null, values.get('expected') || null]
    values.delete('name')
    values.delete('expected')
    const inputs = [...values].flatMap(([key, value]) => {
      if (!jsonInputs.has(key)) return [[key, value]]
      const place = `${key} in line ${line}`
      return value === '' ? [] : [[key, parseStrictJson(Buffer.from(value), place)]]
    })
    yield toCase({ name, expected, inputs: Object.fromEntries(inputs) }, line)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Said below.
  }
  throw new AppError('invalid_request', 'The CSV is not text in UTF-8.')
}

function toCase(given: unknown, line: number): CaseFields {
  const result = v.safeParse(caseBody, given)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new AppError('unprocessable', `Line ${line}: ${describeIssue(issue, 'the case')}.`)
}

/** Writes a case as a line of JSON. */
export const toJsonLine = ({ name, inputs, expected }: CaseFields): string =>
  `${JSON.stringify({ name, inputs, expected })}\n`

/** Writes cases as CSV with these inputs as columns. */
export const caseRow = ({ name, inputs, expected }: CaseFields, names: readonly string[]): string =>
  csvRow([name ?? '', expected ?? '', ...names.map((each) => cellOf(inputs[each]))])

function cellOf(value: unknown): string {
  if (value === undefined) return ''
  // A file, by the id that a kickoff takes.
  if (isObject(value) && typeof value['file_id'] === 'string') return value['file_id']
  return typeof value === 'string' ? value : JSON.stringify(value)
}
