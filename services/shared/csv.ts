import { AppError } from './errors.ts'

const CELLS_MAX = 200
const CELL_CHARACTERS_MAX = 262_144

/** What a spreadsheet takes for a formula, behind apostrophes or not. */
const FORMULA = /^'*[=+\-@\t\r]/

/** Writes a row of CSV. A text that a spreadsheet would take for a formula gets an apostrophe. */
export const csvRow = (cells: readonly (string | number)[]): string =>
  `${cells.map(cell).join(',')}\r\n`

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const safe = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A row of CSV with the number of the line that it begins in. */
interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
}

const TOKEN = /"[^"]*(?:""[^"]*)*"|[^",\r\n]+|,|\r\n|\n|\r|"/y

/**
 * Reads the rows of CSV as RFC 4180 has it, one by one, and takes the apostrophes back that
 * `csvRow` writes. Rows without a character are left out. Raises `invalid_request`, with the line.
 */
export function* readCsv(text: string): Generator<CsvRow, void> {
  let line = 1
  let row = { line, cells: [''], isQuoted: false, isEmpty: true }
  const pattern = new RegExp(TOKEN)
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [token] = match
    if (token === '\n' || token === '\r' || token === '\r\n') {
      if (!row.isEmpty) yield toRow(row)
      line += 1
      row = { line, cells: [''], isQuoted: false, isEmpty: true }
      continue
    }
    row.isEmpty = false
    if (token === ',') {
      if (row.cells.push('') > CELLS_MAX) throw wrong(line, `has more than ${CELLS_MAX} cells`)
      row.isQuoted = false
      continue
    }
    addTo(row, token, line)
    line += token.split(/\r\n|\n|\r/).length - 1
  }
  if (!row.isEmpty) yield toRow(row)
}

interface OpenRow {
  readonly line: number
  readonly cells: string[]
  /** The last cell was in quotation marks. */
  isQuoted: boolean
}

function addTo(row: OpenRow, token: string, line: number): void {
  const last = row.cells.length - 1
  if (token === '"' || row.isQuoted || (token.startsWith('"') && row.cells[last] !== '')) {
    throw wrong(line, 'has a quotation mark that does not begin or end a cell')
  }
  row.isQuoted = token.startsWith('"')
  const content = row.isQuoted ? token.slice(1, -1).replaceAll('""', '"') : token
  if (content.length > CELL_CHARACTERS_MAX) {
    throw wrong(line, `has a cell of more than ${CELL_CHARACTERS_MAX} characters`)
  }
  row.cells[last] = content
}

const toRow = ({ line, cells }: OpenRow): CsvRow => ({
  line,
  cells: cells.map((each) => (each.startsWith("'") && FORMULA.test(each) ? each.slice(1) : each)),
})

const wrong = (line: number, what: string): AppError =>
  new AppError('invalid_request', `Line ${line} of the CSV ${what}.`)
