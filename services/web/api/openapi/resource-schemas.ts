import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import * as s from './parts.ts'
import type { Field, Fields, Identified, Shown } from '../../resources/declaration.ts'
import { namesOf } from '../../resources/names.ts'

/** Returns the schemas of a resource: of its rows, and of what is sent. */
export function schemasOf<Owner, Row extends Identified>({
  kind,
  id,
  under,
  fields,
  facts,
  secret,
  verbs,
}: Shown<Owner, Row>): Record<string, object> {
  const { type, list } = namesOf(kind)
  const all = Object.entries<Field>(fields)
  const shown = schemasOfFields(
    Object.fromEntries(all.filter(([, { look }]) => !look.control.isSecret)),
  )
  const row = {
    id: ID_SCHEMAS[id],
    version: s.say(s.text, 'Another one after each change; for `If-Match`.'),
    ...schemasOfFacts(under.facts),
    ...shown,
    ...schemasOfFacts(facts),
    managed_by: s.say(s.perhapsText, 'What keeps it in files; null: nothing does.'),
  }
  const once = secret && { [secret.key]: shownOnce, ...(secret.isMailed && { mailed }) }
  return {
    [type]: s.closed(row),
    ...((verbs.create ?? verbs.change) !== undefined && {
      [`${type}Request`]: {
        type: 'object',
        additionalProperties: false,
        required: all.filter(([, { type: kind }]) => kind !== 'optional').map(([name]) => name),
        properties: Object.fromEntries(all.map(([name, each]) => [name, schemaOfInput(each)])),
      },
      [`${type}Values`]: s.closed(shown),
    }),
    [`${type}s`]: s.closed({ [list]: s.list(s.schema(type)) }),
    ...(once && { [`${type}WithSecret`]: s.closed({ ...row, ...once }) }),
  }
}

const mailed = s.say(
  s.nullable('boolean'),
  'Whether a mail with it was sent; null: to no one. It is good in any case.',
)
/** The schemas of ids. */
export const ID_SCHEMAS = { uuid: s.uuid, number: { ...s.integer, minimum: 1 }, name: s.text }

const shownOnce = s.say(s.text, 'Shown in this answer, and never again.')

const schemasOfFacts = (facts: Readonly<Record<string, readonly [object, unknown]>>) =>
  Object.fromEntries(Object.entries(facts).map(([name, [described]]) => [name, described]))

/** Returns the JSON Schemas of the values of fields, as answers have them. */
export const schemasOfFields = (fields: Fields): Record<string, object> =>
  Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, schemaOf(each)]))

/** Returns the JSON Schema of a field's value, as answers have it. */
function schemaOf({ look, ...field }: Field): object {
  const {
    $schema: _,
    default: __,
    ...converted
  } = toJsonSchema(field, {
    target: 'draft-2020-12',
    // What was checked to be an object is described by what it is then read as.
    typeMode: 'output',
    // Rules of our own have no form in JSON Schema.
    errorMode: 'ignore',
  })
  const { label, hint = label, example } = look
  return { ...converted, description: hint, ...(example !== undefined && { examples: [example] }) }
}

function schemaOfInput(field: Field): object {
  const value = v.getDefault(field)
  const { control, isFixed } = field.look
  return {
    ...schemaOf(field),
    ...(value !== undefined && { default: value }),
    ...(control.isSecret && { writeOnly: true }),
    ...(isFixed && { 'x-fixed': true }),
  }
}
