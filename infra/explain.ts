import type { Sources } from './render.ts'
import { usersOf } from './template/chart.ts'
import type { Field, LeafField, Shape } from './template/schema.ts'
import { hintFor } from './template/spelling.ts'
import { expectation, show } from './template/validate.ts'
import { schema } from './values.ts'

/**
 * Explains a key: a value by its documentation, type, default, and the templates that use it; a
 * group by its members. Raises an error that names the nearest key if there is no such key.
 */
export function explainValue(path: string, sources: () => Sources): string {
  const keys = path.split('.')
  const field = find(schema, keys, [])
  return field.kind === 'group'
    ? explainGroup(path, field)
    : explainLeaf(path, field, sources().chart)
}

function find(
  shape: Shape,
  [key = '', ...rest]: readonly string[],
  parents: readonly string[],
): Field {
  const field = Object.hasOwn(shape, key) ? shape[key] : undefined
  const path = [...parents, key].join('.')
  if (!field) {
    const prefix = parents.map((parent) => `${parent}.`).join('')
    throw new Error(`there is no value ${path}; ${hintFor(key, Object.keys(shape), prefix)}`)
  }
  if (rest.length === 0) return field
  const members = membersOf(field)
  if (!members)
    throw new Error(`there is no value below ${path}: it is ${expectation(asLeaf(field))}`)
  return find(members, rest, [...parents, key])
}

function membersOf(field: Field): Shape | undefined {
  if (field.kind === 'group') return field.shape
  return field.kind === 'list' || field.kind === 'object' ? field.item : undefined
}

const asLeaf = (field: Field): LeafField => {
  if (field.kind === 'group') throw new Error('a group has members')
  return field
}

function explainGroup(path: string, { doc, shape }: Extract<Field, { kind: 'group' }>): string {
  const width = Math.max(...Object.keys(shape).map((key) => key.length))
  const members = Object.entries(shape).map(
    ([key, member]) => `  ${path}.${key.padEnd(width)}  ${member.doc}`,
  )
  return [`${path}: ${doc}`, ...members, ''].join('\n')
}

function explainLeaf(path: string, field: LeafField, { usedBy }: Sources['chart']): string {
  const members = Object.entries(membersOf(field) ?? {})
  return [
    `${path}: ${field.doc}`,
    `  allowed  ${expectation(field)}`,
    `  default  ${field.default === null ? 'none' : show(field.default)}`,
    ...members.map(([key, member]) => `  member   ${key}: ${member.doc}`),
    ...(field.example === undefined ? [] : [`  example  ${show(field.example)}`]),
    ...usersOf(usedBy, path).map((template) => `  used in  ${template}`),
    '',
  ].join('\n')
}
