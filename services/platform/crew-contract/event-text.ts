import * as v from 'valibot'

/** The part of a message that an event keeps; the model gets all of it. */
export const MESSAGE_CHARACTERS_MAX = 65_536

/** A text that PostgreSQL can store: without NUL and halves of pairs, which models may write. */
export const prose = v.pipe(
  v.string(),
  v.transform((text) => text.replace(/\p{Surrogate}|\0/gu, '\ufffd')),
)

/** What people see of a value: all of it, or the beginning of its JSON. */
export function shown(value: unknown): unknown {
  const text = storable(value)
  return text.length > MESSAGE_CHARACTERS_MAX ? excerpt(text) : JSON.parse(text)
}

/** The JSON of a value, without what PostgreSQL cannot store. */
export const storable = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, each: unknown) =>
    typeof each === 'string' ? v.parse(prose, each) : each,
  )

/** Shortens a message for an event: its beginning, and how much was left out. */
export function excerpt(text: string, charactersMax = MESSAGE_CHARACTERS_MAX): string {
  const left = text.length - charactersMax
  return left <= 0
    ? text
    : `${text.slice(0, charactersMax)} … (${left} more characters were left out)`
}
