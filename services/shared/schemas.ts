import * as v from 'valibot'

/** A whole number of a range. */
export const whole = (min: number, max: number) => {
  const problem = `must be a whole number from ${min} to ${max}`
  return v.pipe(
    v.number(problem),
    v.integer(problem),
    v.minValue(min, problem),
    v.maxValue(max, problem),
  )
}

/** Yes or no. */
export const trueOrFalse = v.boolean('must be true or false')

/** One of the given words. */
export const oneOf = <const Words extends readonly (string | number)[]>(words: Words) =>
  v.picklist(words, `must be one of ${words.join(', ')}`)

/** A text of at most `max` characters. */
export const textUpTo = (max: number) =>
  v.pipe(v.string('must be a text'), v.maxLength(max, `must have at most ${max} characters`))

/** A text of 1 to `max` characters. */
export const someText = (max: number) =>
  v.pipe(
    v.string('must be a text'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
  )
