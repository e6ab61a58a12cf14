/** Every mistake in a set of values, one line each. */
export class ValuesError extends Error {
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`The values are not valid:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`)
    this.name = 'ValuesError'
    this.mistakes = mistakes
  }
}
