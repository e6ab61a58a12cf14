import { readFileSync } from 'node:fs'
import { AppError, toError } from '../../../shared/errors.ts'
import { headOf, readExpression } from './expression.ts'
import type { Sought } from './kinds.ts'

/** Expressions of an operator that there may be: each costs something in every text. */
const MAX_OWN = 32
const MAX_FILE_BYTES = 65_536

/**
 * The expressions of a file. Raises `invalid_configuration` with all that is wrong in it, by line;
 * never with an expression.
 */
export function readOwnExpressions(path: string): readonly Sought[] {
  const problems: string[] = []
  const sought: Sought[] = []
  for (const [index, line] of readLines(path).entries()) {
    const text = line.trim()
    if (text === '' || text.startsWith('#')) continue
    try {
      sought.push(readLine(text))
    } catch (thrown) {
      problems.push(`  - line ${index + 1} ${toError(thrown).message}`)
    }
  }
  if (sought.length > MAX_OWN) problems.push(`  - it has more than ${MAX_OWN} expressions`)
  if (problems.length > 0) throw invalid(path, `is not valid:\n${problems.join('\n')}`)
  return sought
}

const invalid = (path: string, problem: string): AppError =>
  new AppError('invalid_configuration', `The file of expressions ${path} ${problem}`)

function readLines(path: string): string[] {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (thrown) {
    throw invalid(path, `cannot be read: ${toError(thrown).message}`)
  }
  if (bytes.length > MAX_FILE_BYTES) throw invalid(path, `has more than ${MAX_FILE_BYTES} bytes`)
  return bytes.toString('utf8').split('\n')
}

const TAKEN = new Set(['card', 'key', 'email', 'iban'])

/** A line such as `employee: EMP-\d{6}`. */
function readLine(line: string): Sought {
  const [, kind = '', expression] = /^([a-z][a-z0-9_-]{0,31}):\s*(.*)$/.exec(line) ?? []
  if (expression === undefined) {
    throw new Error('must be a name of a-z, 0-9, - and _, a colon and an expression')
  }
  if (TAKEN.has(kind)) throw new Error(`has the name ${kind}, which the collector itself uses`)
  const first = headOf(readExpression(expression))[0] ?? []
  const isWord = [...first].every((byte) => /[A-Za-z0-9]/.test(String.fromCharCode(byte)))
  return { kind, expression, isWord }
}
