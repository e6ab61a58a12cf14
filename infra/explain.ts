import { platformChart } from './render.ts'
import { expectation, show } from './template/validate.ts'
import { leavesOf } from './template/schema.ts'
import { closest } from './template/spelling.ts'
import { schema } from './values.ts'

/** What one value means: documentation, type, default, and the templates that use it. */
export function explainValue(path: string): string {
  const leaves = leavesOf(schema)
  const leaf = leaves.find((candidate) => candidate.path === path)
  if (!leaf) {
    const near = closest(
      path,
      leaves.map((candidate) => candidate.path),
    )
    throw new Error(
      `there is no value ${path}${near === undefined ? '' : `; did you mean ${near}?`}`,
    )
  }
  const usedBy = platformChart().usedBy.get(path) ?? []
  return [
    `${path}: ${leaf.field.doc}`,
    `  allowed  ${expectation(leaf.field)}`,
    `  default  ${show(leaf.field.default)}`,
    ...usedBy.map((template) => `  used in  ${template}`),
    '',
  ].join('\n')
}
