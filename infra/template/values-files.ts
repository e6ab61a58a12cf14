import { definitionOfType, FREE_DATA, freeSchema, isFreeField, typeSchema } from './free.ts'
import type { JsonObject } from './json.ts'
import { implication } from './item-rules.ts'
import { LEAST, MOST, QUANTITY, ZERO } from './quantity.ts'
import { yamlScalar } from './scalar.ts'
import { wrap } from './comments.ts'
import { isOptional, leavesOf } from './leaves.ts'
import type {
  Field,
  LeafField,
  ListField,
  ObjectField,
  Shape,
  StringField,
  TextRule,
} from './schema.ts'
import { treeOf } from './tree.ts'
import { expectation } from './validate.ts'
import { writeManifest } from './writer.ts'

/** `values.yaml`: every default, with its documentation above it. */
export function valuesYaml(shape: Shape): string {
  const said = createSaid()
  return Object.entries(shape)
    .map(([key, field]) => yamlLines(key, field, { indent: '', path: key, said }).join('\n'))
    .join('\n\n')
    .concat('\n')
}

/**
 * Returns the path at which the same documentation stands already, for a field with more than a
 * line of it: components have most of their values in common.
 */
type Said = (field: Field, path: string) => string | undefined

function createSaid(): Said {
  const paths = new Map<string, string>()
  return function said(field, path) {
    const text = JSON.stringify([field.doc, field.example])
    const known = paths.get(text)
    if (known === undefined) paths.set(text, path)
    return text.length > LINE || field.example !== undefined ? known : undefined
  }
}

const LINE = 80

interface Place {
  readonly indent: string
  readonly path: string
  readonly said: Said
}

function yamlLines(key: string, field: Field, { indent, path, said }: Place): readonly string[] {
  const known = said(field, path)
  const doc = known === undefined ? `${field.doc}${note(field)}` : `As \`${known}\`.`
  const comment = wrap(doc, 98 - indent.length).map((text) => `${indent}# ${text}`)
  if (field.kind !== 'group') {
    return [...comment, ...leafLines(key, field, { indent, hasExample: known === undefined })]
  }
  const members = Object.entries(field.shape).flatMap(([name, member]) =>
    yamlLines(name, member, { indent: `${indent}  `, path: `${path}.${name}`, said }),
  )
  return [...comment, `${indent}${key}:`, ...members]
}

function leafLines(
  key: string,
  field: LeafField,
  { indent, hasExample }: { readonly indent: string; readonly hasExample: boolean },
): readonly string[] {
  if (field.default === null) return [`${indent}# ${key}:`]
  const example =
    field.example === undefined || !hasExample ? [] : ['Example:', ...exampleLines(field.example)]
  return [...example.map((text) => `${indent}# ${text}`), `${indent}${key}: ${defaultText(field)}`]
}

const exampleLines = (example: unknown): readonly string[] =>
  writeManifest(treeOf(example, new Map()))
    .trimEnd()
    .split('\n')
    .map((text) => `  ${text}`)

function note(field: Field): string {
  if (field.kind === 'string' && field.words)
    return ` One of: ${field.words.filter(Boolean).join(', ')}.`
  return ''
}

function defaultText({ default: value }: LeafField): string {
  if (value === null) return 'none'
  return typeof value === 'object' ? JSON.stringify(value) : yamlScalar(value)
}

/** `values.schema.json`, in the draft that Helm 3 reads. */
export const valuesSchema = (shape: Shape): JsonObject => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...members(shape, { required: requiredIn(shape), open: false }),
  definitions: Object.fromEntries([
    ['data', FREE_DATA],
    ...leavesOf(shape).flatMap(({ field }) => definitionOf(field)),
  ]),
})

type Definition = readonly [name: string, schema: JsonObject]

/** The definition that all fields of a type refer to. */
function definitionOf(field: LeafField): readonly Definition[] {
  if (isFreeField(field)) return [[definitionOfType(field), typeSchema(field)]]
  return isGiven(field) && field.name !== undefined ? [[field.name, givenSchema(field)]] : []
}

const requiredIn = (shape: Shape): readonly string[] =>
  Object.entries(shape).flatMap(([key, field]) => (isOptional(field) ? [] : [key]))

const isGiven = (field: Field): field is ObjectField | ListField =>
  field.kind === 'object' || field.kind === 'list'

/** Maps whose members are as they are given. */
function givenSchema({ kind, item, required, rules }: ObjectField | ListField): JsonObject {
  const schema = {
    ...members(item, { required, open: false }),
    ...(rules.length > 0 ? { allOf: rules.map(implication) } : {}),
  }
  return kind === 'list' ? { type: 'array', items: schema } : schema
}

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
  if (isFreeField(field)) return freeSchema(field)
  switch (field.kind) {
    case 'group':
      return members(field.shape, { required: requiredIn(field.shape), open: field.open })
    case 'map':
      return {
        type: 'object',
        propertyNames: textSchema(field.key),
        additionalProperties: { type: 'string', ...textSchema(field.value) },
      }
    case 'texts':
      return { type: 'array', items: { type: 'string', ...textSchema(field.item) } }
    case 'object':
    case 'list':
      // Beside a reference draft 7 reads nothing else.
      return field.name === undefined
        ? givenSchema(field)
        : { allOf: [{ $ref: `#/definitions/${field.name}` }] }
    case 'string':
    case 'quantity':
    case 'integer':
    case 'boolean':
      return scalarSchema(field)
  }
}

type Scalar = Extract<Field, { kind: 'string' | 'quantity' | 'integer' | 'boolean' }>

function scalarSchema(field: Scalar): JsonObject {
  switch (field.kind) {
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
      return {
        type: field.hasFraction ? 'number' : 'integer',
        minimum: field.min,
        maximum: field.max,
      }
    case 'string':
      return stringSchema(field)
    case 'quantity':
      return {
        type: ['string', 'number'],
        pattern: QUANTITY.source,
        ...(field.mayBeZero ? {} : { not: { type: 'string', pattern: ZERO.source } }),
        minimum: LEAST,
        maximum: MOST,
      }
  }
}

const stringSchema = ({ words, pattern, except, digits }: StringField): JsonObject => ({
  type: digits ? ['string', 'integer'] : 'string',
  ...(words ? { enum: words } : {}),
  ...(pattern ? { pattern: pattern.source } : {}),
  ...(except ? { not: { type: 'string', pattern: except.source } } : {}),
  ...(digits ? { minimum: digits.min, maximum: digits.max } : {}),
})

const textSchema = ({ pattern, except }: TextRule): JsonObject => ({
  pattern: pattern.source,
  ...(except ? { not: { pattern: except.source } } : {}),
})

/** The values as a Markdown table. */
export function valuesTable(shape: Shape): string {
  const said = createSaid()
  const rows = leavesOf(shape).map(({ path, field }) => {
    const known = said(field, path)
    const meaning = known === undefined ? field.doc : `As \`${known}\`.`
    return `| \`${path}\` | ${expectation(field)} | \`${defaultText(field)}\` | ${meaning} |`
  })
  return ['| Key | Allowed | Default | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
}
