/** A place in a file: lines and columns begin with 1. */
export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** What is wrong with a document, or with a file as a whole. */
export interface Problem extends Partial<Place> {
  /** `spec.cron` */
  readonly field?: string
  readonly message: string
}

/** Sorts problems by file and line. */
export const sortProblems = (problems: readonly Problem[]): Problem[] =>
  problems.toSorted(
    ({ file: a = '', line: from = 0 }, { file: b = '', line: to = 0 }) =>
      (a === b ? 0 : a < b ? -1 : 1) || from - to,
  )

/** Returns a problem as a line of text: `crews.yaml:3:5: spec.cron: …` */
export function problemLine({ file, line, column, field, message }: Problem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':')
  // A file of strangers writes nothing to the terminal but text.
  return [place, field, message].filter(Boolean).join(': ').replaceAll(/\p{C}/gu, '\ufffd')
}
