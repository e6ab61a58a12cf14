const WIDTH = 80

/** The lines of a comment, broken between words. */
export const wrapped = (comment: string): readonly string[] =>
  comment
    .trim()
    .split(/\s+/)
    .reduce<string[]>((lines, word) => {
      const last = lines.pop()
      if (last === undefined) return [word]
      return last.length + word.length < WIDTH
        ? [...lines, `${last} ${word}`]
        : [...lines, last, word]
    }, [])
