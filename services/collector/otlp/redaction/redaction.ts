import { createHmac } from 'node:crypto'
import { AppError, toError } from '../../../shared/errors.ts'
import { BUILT_IN } from './kinds.ts'
import type { Sought } from './kinds.ts'
import { createTables } from './tables.ts'
import type { Tables } from './tables.ts'
import { readFileSync } from 'node:fs'
import { headOf, readExpression } from './expression.ts'

/** What the transcoder replaces in every text, and by which marks. */
export interface Redaction {
  readonly tables: Tables
  /** Kinds by their numbers in the tables. */
  readonly kinds: readonly string[]
  /** The mark in place of a secret, such as `[redacted:email]`, in ASCII. */
  mark(kind: number, secret: Buffer): string
}

/** The words that `COLLECTOR_REDACT` takes. */
export const REDACTABLE = ['cards', 'keys', 'emails', 'ibans', 'custom'] as const

/** What to redact. */
export interface RedactionOptions {
  readonly redact: readonly (typeof REDACTABLE)[number][]
  /** The file of the operator's own expressions, for `custom`. */
  readonly file?: string | undefined
  /** With a key, equal secrets have equal marks: `[redacted:email:3f9a1c]`. */
  readonly hashKey?: string | undefined
}

/**
 * Undefined when nothing is to be redacted. Raises `invalid_configuration` for `custom` without a
 * file, a file without `custom`, and a file with expressions that are not taken.
 */
export function createRedaction({
  redact,
  file,
  hashKey,
}: RedactionOptions): Redaction | undefined {
  if ((file !== undefined) !== redact.includes('custom')) {
    throw new AppError(
      'invalid_configuration',
      'COLLECTOR_REDACT has custom if, and only if, COLLECTOR_REDACT_FILE is set.',
    )
  }
  const sought: readonly Sought[] = [
    ...new Set(
      redact.flatMap((word): readonly Sought[] => (word === 'custom' ? [] : BUILT_IN[word])),
    ),
    ...(file === undefined ? [] : readOwnExpressions(file)),
  ]
  if (sought.length === 0) return undefined
  const kinds = [...new Set(sought.map(({ kind }) => kind))]
  return {
    tables: createTables(sought, (kind) => kinds.indexOf(kind)),
    kinds,
    mark(kind, secret) {
      const name = kinds[kind] ?? ''
      const hash = hashKey === undefined ? '' : `:${hashOf(hashKey, name, secret)}`
      return `[redacted:${name}${hash}]`
    },
  }
}

const HASH_CHARS = 6

/** The same for one value however it is written: spaces, hyphens and capitals do not count. */
function hashOf(key: string, kind: string, secret: Buffer): string {
  const text = secret.toString('utf8')
  return createHmac('sha256', key)
    .update(`${kind}:${NORMALIZE.get(kind)?.(text) ?? text}`)
    .digest('hex')
    .slice(0, HASH_CHARS)
}

const withoutSeparators = (text: string): string => text.replaceAll(/[ .-]/g, '')
const NORMALIZE = new Map<string, (text: string) => string>([
  ['card', withoutSeparators],
  ['iban', withoutSeparators],
  ['email', (text) => text.replace(/%40|\\+u0040/, '@').toLowerCase()],
])

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
