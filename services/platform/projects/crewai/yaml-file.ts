import { parseDocument } from 'yaml'
import { AppError } from '../../../shared/errors.ts'

/** Uses of anchors in a file; one that grows to more than that is refused. */
const ALIASES_MAX = 100

/**
 * Parses a YAML file as CrewAI does, by YAML 1.1, but refuses what that would read in silence: a
 * key that is there twice. Raises `invalid_request` with the line of a mistake.
 */
export function parseYaml(text: string): unknown {
  try {
    const document = parseDocument(text, { version: '1.1', uniqueKeys: true })
    const [mistake] = [...document.errors, ...document.warnings]
    if (mistake) throw refused(mistake.message.split('\n', 1)[0]?.replace(/:$/, '') ?? '')
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX })
    return value
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    if (thrown instanceof ReferenceError) {
      throw refused('its anchors and aliases grow too large, or one names no anchor before it')
    }
    if (thrown instanceof RangeError) throw refused('it is nested too deeply')
    throw thrown
  }
}

/** Finds the line and column of a mistake in JSON, which is YAML too; undefined when it is not. */
export function findMistake(json: string): { line: number; column: number } | undefined {
  try {
    const [mistake] = parseDocument(json.replaceAll('\t', ' ')).errors
    const [start] = mistake?.linePos ?? []
    return start && { line: start.line, column: start.col }
  } catch {
    return undefined
  }
}

const refused = (why: string): AppError =>
  new AppError('invalid_request', `This is not valid YAML: ${why}.`)
