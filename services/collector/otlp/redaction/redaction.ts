import { createHmac } from 'node:crypto'
import { AppError } from '../../../shared/errors.ts'
import { BUILT_IN } from './kinds.ts'
import type { Sought } from './kinds.ts'
import { readOwnExpressions } from './own-expressions.ts'
import { createTables } from './tables.ts'
import type { Tables } from './tables.ts'

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
