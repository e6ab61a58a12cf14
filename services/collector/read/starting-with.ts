/** The parts behind one that was taken before. */
export async function* startingWith(
  first: string | void,
  rest: AsyncGenerator<string, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  if (first) yield first
  yield* rest
}
