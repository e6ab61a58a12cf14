import { toolsOf } from './tools.ts'
import type { Draft } from './values.ts'

/** What is wrong with fields of the form, by their names. */
export type Marks = Readonly<Record<string, string>>

const PLACED = /^([\w.[\]-]+): (.+)$/s
const MISSING = /^(\w+) is required$/

/**
 * Returns the problems that are those of a field, or of a whole entry: `agents.0.role`, `tools.1`.
 */
export function marksOf(draft: Draft, problems: readonly string[]): Marks {
  const keys = Object.keys(toolsOf(draft))
  return Object.fromEntries(
    problems.toReversed().flatMap((problem) => {
      const [, place, message = ''] = PLACED.exec(problem) ?? []
      if (place === undefined) return []
      const [list = '', ...rest] = place.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
      const path = list === 'tools' ? [String(keys.indexOf(rest[0] ?? '')), ...rest.slice(1)] : rest
      const [, missing] = MISSING.exec(message) ?? []
      const name = [list, ...path, ...(missing === undefined ? [] : [missing])]
        .slice(0, path[1] === 'retry' ? 4 : 3)
        .join('.')
      return [[name, message]]
    }),
  )
}
