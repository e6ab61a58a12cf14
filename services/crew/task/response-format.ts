import { isObject } from '../../shared/is-object.ts'
import type { JsonSchema } from '../../shared/json-schema.ts'
import type { ResponseFormat } from '../llm-call.ts'

/** What providers take when they guarantee an answer under a schema. */
const STRICT = new Set(
  (
    '$defs $ref additionalProperties anyOf const description enum items properties required ' +
    'title type'
  ).split(' '),
)

/** Describes the form of an answer for a provider: strictly, where the schema can be kept so. */
export const formatOf = (schema: JsonSchema): ResponseFormat => ({
  type: 'json_schema',
  json_schema: {
    name: 'output',
    schema,
    strict: schema['type'] === 'object' && isStrict(schema),
  },
})

function isStrict(schema: unknown): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((keyword) => STRICT.has(keyword)))
    return false
  const { $defs, anyOf, items, properties, required, additionalProperties } = schema
  const names = isObject(properties) ? Object.keys(properties) : []
  const isClosed =
    schema['type'] !== 'object' ||
    (additionalProperties === false &&
      Array.isArray(required) &&
      names.every((name) => required.includes(name)))
  const parts = [properties, $defs].flatMap((map) => (isObject(map) ? Object.values(map) : []))
  return isClosed && [parts, anyOf ?? [], items ?? []].flat().every(isStrict)
}
