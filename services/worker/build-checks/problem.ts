import { BUILD_PROBLEMS } from '../../platform/crews/build-checks.ts'
import type { BuildProblem, BuildProblemCode } from '../../platform/crews/build-checks.ts'
import { AppError, toError } from '../../shared/errors.ts'

/** Builds the error of a problem with builds. */
export const problem = (code: BuildProblemCode, message: string): AppError =>
  new AppError('unavailable', message, { details: { problem: code } })

/** Does a part of the work; what it raises is this problem, unless it is another one already. */
export async function failingAs<Result>(
  code: BuildProblemCode,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (thrown) {
    if (codeOf(thrown) !== undefined) throw thrown
    throw problem(code, toError(thrown).message)
  }
}

/** Returns the problem that was raised. Raises whatever is none. */
export function findProblem(thrown: unknown): BuildProblem {
  const code = codeOf(thrown)
  if (code === undefined) throw thrown
  return { code, message: toError(thrown).message }
}

const codeOf = (thrown: unknown): BuildProblemCode | undefined =>
  thrown instanceof AppError
    ? BUILD_PROBLEMS.find((code) => code === thrown.details['problem'])
    : undefined
