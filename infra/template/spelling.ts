/** The name nearest to a misspelt one, if one is near enough to be meant. */
function closest(name: string, candidates: readonly string[]): string | undefined {
  const reach = Math.max(1, Math.floor(name.length / 3))
  const ranked = candidates
    .map((candidate) => ({
      candidate,
      edits: distance(name.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((a, b) => a.edits - b.edits)
  const [best] = ranked
  if (best !== undefined && best.edits <= reach) return best.candidate
  const [begun, ...others] = candidates.filter(
    (candidate) => name.length > 2 && candidate.toLowerCase().startsWith(name.toLowerCase()),
  )
  return others.length === 0 ? begun : undefined
}

/** Suggests the key that an unknown one may have meant, completing a message. */
export function hintFor(name: string, known: readonly string[], prefix = ''): string {
  const near = closest(name, known)
  return near === undefined
    ? `known keys: ${known.map((key) => `${prefix}${key}`).join(', ')}`
    : `did you mean ${prefix}${near}?`
}

/** Levenshtein's distance: single-letter edits that turn one word into the other. */
function distance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const substituted = at(previous, column) + (letter === other ? 0 : 1)
      current.push(Math.min(at(previous, column + 1) + 1, at(current, column) + 1, substituted))
    }
    previous = current
  }
  return at(previous, to.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity
