import type { JsonObject } from './json.ts'
import { yamlScalar } from './scalar.ts'
import { leavesOf } from './schema.ts'
import type { Field, LeafField, Shape, TextRule } from './schema.ts'
import { expectation } from './validate.ts'

/** `values.yaml`: every default, with its documentation above it. */
export function valuesYaml(shape: Shape): string {
  return Object.entries(shape)
    .map(([key, field]) => yamlLines(key, field, '').join('\n'))
    .join('\n\n')
    .concat('\n')
}

function yamlLines(key: string, field: Field, indent: string): readonly string[] {
  const comment = wrap(`${field.doc}${note(field)}`, 98 - indent.length).map(
    (text) => `${indent}# ${text}`,
  )
  if (field.kind !== 'group') return [...comment, `${indent}${key}: ${defaultText(field)}`]
  const members = Object.entries(field.shape).flatMap(([name, member]) =>
    yamlLines(name, member, `${indent}  `),
  )
  return [...comment, `${indent}${key}:`, ...members]
}

function note(field: Field): string {
  if (field.kind === 'string' && field.words) return ` One of: ${field.words.join(', ')}.`
  return ''
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const defaultText = (field: LeafField): string =>
  typeof field.default === 'object' ? JSON.stringify(field.default) : yamlScalar(field.default)

/** `values.schema.json`, in the draft that Helm 3 reads. */
export const valuesSchema = (shape: Shape): JsonObject => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...members(shape, { required: Object.keys(shape), open: false }),
})

function members(
  shape: Shape,
  { required, open }: { required: readonly string[]; open: boolean },
): JsonObject {
  const properties = Object.entries(shape).map(([key, field]) => [
    key,
    { description: field.doc, ...fieldSchema(field) },
  ])
  return {
    type: 'object',
    additionalProperties: open,
    ...(required.length > 0 ? { required } : {}),
    properties: Object.fromEntries(properties),
  }
}

function fieldSchema(field: Field): JsonObject {
  switch (field.kind) {
    case 'group':
      return members(field.shape, { required: Object.keys(field.shape), open: field.open })
    case 'string':
      return {
        type: field.digits ? ['string', 'integer'] : 'string',
        ...(field.words ? { enum: field.words } : {}),
        ...(field.pattern ? { pattern: field.pattern.source } : {}),
        ...(field.digits ? { minimum: field.digits.min, maximum: field.digits.max } : {}),
      }
    case 'integer':
      return { type: 'integer', minimum: field.min, maximum: field.max }
    case 'boolean':
      return { type: 'boolean' }
    case 'map':
      return {
        type: 'object',
        propertyNames: textSchema(field.key),
        additionalProperties: { type: 'string', ...textSchema(field.value) },
      }
    case 'object':
      return { type: 'object' }
    case 'list':
      return {
        type: 'array',
        items: members(field.item, { required: field.required, open: false }),
      }
  }
}

const textSchema = ({ pattern, except }: TextRule): JsonObject => ({
  pattern: pattern.source,
  ...(except ? { not: { pattern: except.source } } : {}),
})

/** The values as a Markdown table. */
export function valuesTable(shape: Shape): string {
  const rows = leavesOf(shape).map(
    ({ path, field }) =>
      `| \`${path}\` | ${expectation(field)} | \`${defaultText(field)}\` | ${field.doc} |`,
  )
  return ['| Key | Allowed | Default | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
}
