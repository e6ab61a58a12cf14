/** A record with the number of the line that it begins in, or what is wrong there. */
type CsvRecord = { readonly line: number } & (
  | { readonly cells: readonly string[] }
  | { readonly problem: string }
)

interface CsvLimits {
  readonly cells: number
  /** Of a record. */
  readonly characters: number
}

/**
 * Reads the records of a CSV file (RFC 4180; lines end with CRLF or LF), one at a time, up to the
 * first that cannot be read. Empty lines are passed over.
 */
export function* readCsv(text: string, limits: CsvLimits): Generator<CsvRecord> {
  let [at, line] = [0, 1]
  while (at < text.length) {
    const record = readRecord(text, at, limits)
    if ('problem' in record) return yield { line, problem: record.problem }
    const { cells, next } = record
    if (cells.length > 1 || cells[0] !== '') yield { line, cells }
    line += text.slice(at, next).split('\n').length - 1
    at = next
  }
}

type Read = { readonly cells: string[]; readonly next: number } | { readonly problem: string }

function readRecord(text: string, begin: number, limits: CsvLimits): Read {
  const end = Math.min(text.length, begin + limits.characters)
  const cells: string[] = []
  for (let at = begin; cells.length < limits.cells; at += 1) {
    const close = text[at] === '"' ? findClose(text, at, end) : findPlainEnd(text, at, end)
    if (close === undefined) return { problem: UNCLOSED }
    const cell = text.slice(at, close)
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    at = close
    if (at === text.length || text[at] === '\n') return { cells, next: at + 1 }
    if (text.startsWith('\r\n', at)) return { cells, next: at + 2 }
    if (at >= end) return { problem: `has more than ${limits.characters} characters` }
    if (text[at] !== ',') return { problem: UNQUOTED }
  }
  return { problem: `has more than ${limits.cells} cells` }
}

const UNCLOSED = 'has a quotation mark that is not closed, or a cell that is too long'
const UNQUOTED =
  'has a quotation mark or a carriage return within a cell: put the cell in quotation marks, and ' +
  'double those in it'

/** Returns where a cell in quotation marks has ended. */
function findClose(text: string, at: number, end: number): number | undefined {
  let close = text.indexOf('"', at + 1)
  while (close !== -1 && close < end && text[close + 1] === '"') {
    close = text.indexOf('"', close + 2)
  }
  return close === -1 || close >= end ? undefined : close + 1
}

const PLAIN = /[^",\r\n]*/y

function findPlainEnd(text: string, at: number, end: number): number {
  PLAIN.lastIndex = at
  return Math.min(end, at + (PLAIN.exec(text)?.[0].length ?? 0))
}

/** Characters by which a cell is a formula to a spreadsheet. */
const FORMULA = /^[=+\-@\t\r]/

/** Writes a record of a CSV file; what a spreadsheet would take for a formula begins with `'`. */
export const toCsv = (cells: readonly (string | number | null)[]): string =>
  `${cells.map(toCell).join(',')}\r\n`

function toCell(value: string | number | null): string {
  const text = String(value ?? '')
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
