import { variableNameProblem } from './crew-variable-fields.ts'
import { VARIABLES_MAX } from './crew-variables.ts'

/** A variable that was read of a file. */
export interface ReadVariable {
  readonly name: string
  readonly value: string
}

/**
 * Reads variables in the form of a .env file: a line for each `NAME=value`, perhaps in quotes, and
 * comments. Returns what is wrong, by its line, where something is.
 */
export function readEnvFile(text: string): readonly ReadVariable[] | { readonly problem: string } {
  const variables: ReadVariable[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const [, name, value = ''] = /^(?:export\s+)?([^=\s]+)\s*=(.*)$/.exec(trimmed) ?? []
    if (name === undefined) return { problem: `Line ${index + 1} is not NAME=value.` }
    const problem = variableNameProblem(name)
    if (problem) return { problem: `Line ${index + 1}: the name ${problem}.` }
    variables.push({ name, value: unquote(value.trim()) })
    if (variables.length > VARIABLES_MAX) {
      return { problem: `There are more than ${VARIABLES_MAX} variables.` }
    }
  }
  return variables
}

function unquote(value: string): string {
  const [, double, single] = /^(?:"([^"]*)"|'([^']*)')(?:\s+#.*)?$/.exec(value) ?? []
  return double ?? single ?? value.replace(/\s+#.*$/, '')
}
