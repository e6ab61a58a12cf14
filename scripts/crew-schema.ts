import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { crewDescription } from '../services/platform/crew-contract/crew-description.ts'
import {
  crewEvent,
  journaledKickoff,
  kickoffLine,
  kickoffRequest,
} from '../services/platform/crew-contract/crew-protocol.ts'

/** Rules that JSON Schema has no words for are left out of it. */
function schemaOf(schema: v.GenericSchema): object {
  const { $schema: _, ...json } = toJsonSchema(schema, { typeMode: 'input', errorMode: 'ignore' })
  return json
}

/** The version of a project has a schema of its own; a crew need not look at it. */
function kickoffSchema(schema: { readonly entries: v.ObjectEntries }): object {
  const definition = v.optional(v.record(v.string(), v.unknown()))
  return schemaOf(v.object({ ...schema.entries, definition }))
}

/** Events of other types are kept and shown as they are. */
function eventSchema(): object {
  const known = crewEvent.options.map(({ entries }) => entries.type.literal)
  const other = {
    type: 'object',
    properties: { type: { type: 'string', not: { enum: known } }, seq: { type: 'integer' } },
    required: ['type'],
  }
  return { anyOf: [...crewEvent.options.map((option) => schemaOf(option)), other] }
}

/** The JSON Schema of the crew contract, from what the platform itself reads and writes. */
export const crewSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'The crew contract, version 2: an event',
  $ref: '#/$defs/event',
  $defs: {
    event: eventSchema(),
    description: schemaOf(crewDescription),
    kickoff: kickoffSchema(kickoffRequest),
    kickoff_with_journal: kickoffSchema(journaledKickoff),
    later_line_of_the_kickoff: schemaOf(kickoffLine),
  },
}
