import { AppError } from '../../shared/errors.ts'
import { sealsOf } from '../../shared/vault.ts'
import type { Seals } from '../../shared/vault.ts'

/** What an erasure looks for: a text anywhere, what a user started, or an attribute of spans. */
export const NEEDLE_KINDS = ['text', 'user', 'attribute'] as const

/** What belongs to a person has it: a text, the id of a user, or `key=value`. */
export interface Needle {
  readonly kind: (typeof NEEDLE_KINDS)[number]
  readonly value: string
}

/**
 * Returns what an erasure looks for. Raises `unprocessable` for what is too short, is no attribute,
 * or is in the name of the erasure, which stays.
 */
export function readNeedle({ name, kind, value }: Needle & { readonly name: string }): Needle {
  const needle = value.trim()
  const problem = PROBLEMS[kind](needle)
  if (problem) throw new AppError('unprocessable', problem)
  if (name.toLowerCase().includes(needle.toLowerCase()))
    throw new AppError(
      'unprocessable',
      'The name has what is looked for, and would stay. Choose another.',
    )
  return { kind, value: needle }
}

const PROBLEMS: Readonly<Record<Needle['kind'], (value: string) => string | undefined>> = {
  text: (value) => (value.length < 3 ? 'A text to look for has at least 3 characters.' : undefined),
  user: (value) => (value === '' ? 'Enter the id of the user.' : undefined),
  attribute: (value) =>
    /^[^=]{1,256}=.+$/u.test(value)
      ? undefined
      : 'An attribute is a key and a value, such as customer.id=4711.',
}

interface ErasureKey {
  readonly id: string
  readonly organizationId: number
}

/** Seals what erasures look for. */
export type NeedleSeals = Seals<ErasureKey>

/** Creates the seals from SECRET_KEY_BASE and, while it is rotated, the previous one. */
export const createNeedleSeals = sealsOf(
  'crew-platform erasure',
  ({ organizationId, id }: ErasureKey) => `${organizationId}/${id}`,
)

const FIRST_BEYOND_ASCII = 0x80

/**
 * Returns a text in each way in which it may be stored, as patterns of `like` for what `lower`
 * returns: as it is, as JSON has it, and as JSON that is ASCII alone. In some locales `lower`
 * leaves letters beyond ASCII as they are, so those are there in both cases.
 */
export const patternsOf = (text: string): string[] =>
  patterns(text, (form) => {
    const json = JSON.stringify(form).slice(1, -1)
    const ascii = json.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    return [form, json, ascii]
  })

/** Returns likewise what `lower(encode(…, 'escape'))` makes of bytes with the text. */
export const bytesPatternsOf = (text: string): string[] =>
  patterns(text, (form) => [
    [...Buffer.from(form)]
      .map((byte) => {
        if (byte === 0 || byte >= FIRST_BEYOND_ASCII)
          return `\\${byte.toString(8).padStart(3, '0')}`
        return byte === 0x5c ? '\\\\' : String.fromCharCode(byte)
      })
      .join(''),
  ])

function patterns(text: string, formsOf: (text: string) => readonly string[]): string[] {
  const forms = [text, text.toLowerCase(), text.toUpperCase()].flatMap(formsOf)
  const lower = forms.map((form) => form.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()))
  return [...new Set(lower)].map((form) => `%${form.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`)
}
