import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'

/** Reads a JSON body by its schema. Raises `unprocessable` with each problem. */
export function parseBody<Output>(
  schema: v.BaseSchema<unknown, Output, v.BaseIssue<unknown>>,
  body: unknown,
): Output {
  const result = v.safeParse(schema, body)
  if (result.success) return result.output
  const problems = result.issues.map(
    (issue) => `${v.getDotPath(issue) ?? 'body'} ${describeIssue(issue)}`,
  )
  throw new AppError('unprocessable', `The body is not valid: ${problems.join('; ')}.`, {
    details: { problems },
  })
}

/**
 * A schema of texts for which a function returns no problem; `described` is what JSON Schema says.
 */
export const checked = (problemOf: (text: string) => string | undefined, described: object = {}) =>
  v.pipe(
    v.string('must be a text'),
    v.check(
      (text) => problemOf(text) === undefined,
      ({ input }) => problemOf(input) ?? '',
    ),
    v.metadata({ ...described }),
  )

/** Returns what is wrong with a value, ready to follow its name. */
export function describeIssue({ type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (type !== 'strict_object') return message
  if (expected === 'never') return 'is not known'
  return received === 'undefined' ? 'is required' : 'must be a JSON object'
}
