/**
 * How much a problem matters: `refused` is not imported at all, `left_out` only when the caller
 * accepts that it is missing, and a `note` changes nothing of what the crew does.
 */
export const PROBLEM_LEVELS = ['refused', 'left_out', 'note'] as const
/** How much a problem matters. */
export type ProblemLevel = (typeof PROBLEM_LEVELS)[number]

/** A place in a project: a file, and the path of a key in it; the empty key is the whole file. */
export interface Place {
  readonly file: string
  readonly key: string
}

/** Something that an import could not take over as it is. */
export interface ImportProblem extends Place {
  readonly level: ProblemLevel
  readonly message: string
}

/** Collects problems, each place and message once. */
export interface Report {
  refuse(place: Place, message: string): void
  leaveOut(place: Place, message: string): void
  note(place: Place, message: string): void
  /** The problems, the worst first. */
  problems(): ImportProblem[]
}

const PROBLEMS_MAX = 500

/** Creates an empty report. It keeps the first 500 problems and says that there are more. */
export function createReport(): Report {
  const found = new Map<string, ImportProblem>()
  const add = (level: ProblemLevel, { file, key }: Place, message: string): void => {
    const id = JSON.stringify([file, key, message])
    if (found.size < PROBLEMS_MAX && !found.has(id)) found.set(id, { file, key, level, message })
    else if (!found.has(id)) found.set('', { ...TOO_MANY, file })
  }
  return {
    refuse: (place, message) => add('refused', place, message),
    leaveOut: (place, message) => add('left_out', place, message),
    note: (place, message) => add('note', place, message),
    problems: () =>
      [...found.values()].toSorted(
        (a, b) => PROBLEM_LEVELS.indexOf(a.level) - PROBLEM_LEVELS.indexOf(b.level),
      ),
  }
}

const TOO_MANY = {
  key: '',
  level: 'refused',
  message: `There are more than ${PROBLEMS_MAX} problems; the others are not listed.`,
} as const

/** Says of Python code that it cannot be imported, and what to do instead. */
export const PYTHON =
  'Python code is not imported. It needs a crew of its own, which speaks the contract of ' +
  'docs/crew-contract.md.'
