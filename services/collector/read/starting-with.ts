import { AppError } from '../../shared/errors.ts'

/** The parts behind one that was taken before. */
export async function* startingWith(
  first: string | void,
  rest: AsyncGenerator<string, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  if (first) yield first
  yield* rest
}

/**
 * Limits how many answers last at a time. The function that it returns hands `send` what gives its
 * place back; it raises `unavailable` with `message` while there is none.
 */
export function createPlaces(most: number, message: string) {
  let taken = 0
  return async <Answer>(send: (onEnd: () => void) => Promise<Answer>): Promise<Answer> => {
    if (taken >= most)
      throw new AppError('unavailable', message, { headers: { 'retry-after': '5' } })
    taken++
    const onEnd = (): void => void taken--
    return send(onEnd).catch((thrown: unknown) => {
      onEnd()
      throw thrown
    })
  }
}
