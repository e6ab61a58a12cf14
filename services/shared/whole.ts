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
