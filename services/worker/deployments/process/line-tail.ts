/** A line that is longer is cut here. */
const LINE_CHARACTERS_MAX = 4000
const LINES_KEPT = 30
const CHARACTERS_KEPT = 2500

/** Reads what a program prints line by line, and keeps the last ones. */
export interface LineTail {
  readonly add: (chunk: string) => void
  /** Ends a last line that has no end. */
  readonly end: () => void
  /** The last lines, each with its end. */
  readonly text: () => string
}

/** Creates a tail that calls `onLines` with all complete lines of each chunk. */
export function createLineTail(onLines: (lines: string) => void): LineTail {
  const kept: string[] = []
  let rest = ''

  function take(lines: readonly string[]): void {
    const cut = lines.map((line) => line.replace(/\r$/, '').slice(0, LINE_CHARACTERS_MAX))
    if (cut.length === 0) return
    kept.push(...cut.slice(-LINES_KEPT))
    kept.splice(0, Math.max(0, kept.length - LINES_KEPT))
    onLines(cut.map((line) => `${line}\n`).join(''))
  }

  return {
    add(chunk) {
      const lines = (rest + chunk).split('\n')
      // One without an end is not gathered for ever.
      rest = (lines.pop() ?? '').slice(0, LINE_CHARACTERS_MAX)
      take(lines)
    },
    end() {
      if (rest !== '') take([rest])
      rest = ''
    },
    text: () =>
      kept
        .map((line) => `${line}\n`)
        .join('')
        .slice(-CHARACTERS_KEPT),
  }
}
