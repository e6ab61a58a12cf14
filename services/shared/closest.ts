/** The name nearest to a misspelt one, if one is near enough to be meant. */
function closest(name: string, candidates: readonly string[]): string | undefined {
  const reach = Math.max(1, Math.floor(name.length / 3))
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: edits(name.toLowerCase(), candidate.toLowerCase()) }))
    .toSorted((a, b) => a.edits - b.edits)
  const [best] = ranked
  return best !== undefined && best.edits <= reach ? best.candidate : undefined
}

/**
 * Single-letter edits that turn one word into the other (Levenshtein). Long names are compared by
 * their beginnings.
 */
function edits(from: string, to: string): number {
  const [rows, columns] = [Array.from(from.slice(0, 64)), Array.from(to.slice(0, 64))]
  let above = Array.from({ length: columns.length + 1 }, (_, column) => column)
  for (const [row, letter] of rows.entries()) {
    const current = [row + 1]
    for (const [column, other] of columns.entries()) {
      const cost = letter === other ? 0 : 1
      current.push(
        Math.min(at(above, column + 1) + 1, at(current, column) + 1, at(above, column) + cost),
      )
    }
    above = current
  }
  return at(above, columns.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Infinity

/** ` Did you mean x?`, ready to follow a sentence; nothing when nothing is near. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const near = closest(name, candidates)
  return near === undefined ? '' : ` Did you mean ${near}?`
}
