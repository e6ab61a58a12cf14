import { toJsonSchema } from '@valibot/to-json-schema'
import type { ConversionConfig, JsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { crewDefinition } from './crew-definition.ts'

/** What publishing writes into a definition, and nobody else. */
const PINS = 'pinned'

/**
 * Returns the JSON Schema of a crew definition, made from the schema that definitions are parsed
 * with. It lacks what JSON Schema cannot say, such as that tasks name agents which are there. With
 * `isWritten` it has what people write, without the pins of published versions.
 */
export function crewDefinitionSchema({ isWritten = false } = {}): JsonSchema {
  return convert(crewDefinition, isWritten)
}

function convert(schema: v.GenericSchema, isWritten: boolean): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...converted
  } = toJsonSchema(schema, {
    target: 'draft-2020-12',
    // What was checked to be an object is described by what it is then read as.
    typeMode: 'output',
    // Rules of our own have no form in JSON Schema.
    errorMode: 'ignore',
    overrideSchema: (context) => override(context, isWritten),
  })
  return converted
}

type Overridden = Parameters<NonNullable<ConversionConfig['overrideSchema']>>[0]

function override(
  { valibotSchema, jsonSchema }: Overridden,
  isWritten: boolean,
): JsonSchema | undefined {
  if (isLazy(valibotSchema)) {
    // It chooses by what is given: a text, or an object.
    return { anyOf: ['', {}].map((given) => convert(valibotSchema.getter(given), isWritten)) }
  }
  const { properties } = jsonSchema
  if (!isWritten || properties?.[PINS] === undefined) return undefined
  const { [PINS]: _, ...written } = properties
  return { ...jsonSchema, properties: written }
}

interface Lazy {
  readonly getter: (input: unknown) => v.GenericSchema
}

const isLazy = (schema: object): schema is Lazy => 'type' in schema && schema.type === 'lazy'
