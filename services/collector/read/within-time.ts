import { deadline } from '../../shared/deadline.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import type { AnswerReader } from './answer-readers.ts'

/**
 * Questions of one answer that together may take so long. Raises `timeout` after that, whatever the
 * database does.
 */
export function withinTime(reader: AnswerReader, totalMs: number): AnswerReader {
  const ends = performance.now() + totalMs
  const limit = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const timeoutMs = Math.max(0, ends - performance.now())
    try {
      return await deadline({ name: 'The trace database', timeoutMs }, work)
    } catch (thrown) {
      if (toAppError(thrown).code !== 'timeout') throw thrown
      const message = `The answer takes more than ${totalMs} ms; narrow the question.`
      throw new AppError('timeout', message, { cause: thrown })
    }
  }
  return {
    organization: reader.organization,
    lagMs: () => reader.lagMs(),
    ask: (question) => limit(() => reader.ask(question)),
    askOnce: (statement) => limit(() => reader.askOnce(statement)),
    copyOut: (statement, onRow) => limit(() => reader.copyOut(statement, onRow)),
  }
}
