/** A definition while it is edited: an object of JSON that may not be valid yet. */
export type Draft = Readonly<Record<string, unknown>>

/** Returns an object without what is undefined. */
export const clean = (entry: Draft): Draft =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))

/** Returns what was typed with the ends of lines that JSON has. */
export const plain = (typed: string): string => typed.replaceAll('\r\n', '\n')

/** Returns the number that was typed; the text where it is none, and nothing where it is empty. */
export function numberOf(typed: string): unknown {
  const trimmed = typed.trim()
  if (trimmed === '') return undefined
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed
}

/** Returns the value of a JSON text; the text where it is none, and nothing where it is empty. */
export function jsonOf(typed: string): unknown {
  if (typed.trim() === '') return undefined
  try {
    return JSON.parse(typed)
  } catch {
    return typed
  }
}

/** Returns the names in a text, between spaces and commas. */
export const wordsOf = (typed: string): string[] =>
  typed.split(/[\s,]+/u).filter((each) => each !== '')

/** Returns the key, with a number where another tool has it: none takes another's place. */
export function unusedKey(key: string, isUsed: (key: string) => boolean): string {
  let unused = key
  for (let number = 2; isUsed(unused); number += 1) unused = `${key || 'tool'}_${number}`
  return unused
}
