import * as v from 'valibot'
import { crewEvent } from './crew-protocol.ts'
import type { CrewEvent } from './crew-protocol.ts'
import { MESSAGE_CHARACTERS_MAX, prose, storable } from './event-text.ts'

/** An event of a kind that this version does not know: it is kept and shown as it is. */
export interface OtherEvent {
  readonly type: 'other'
  readonly seq?: number | undefined
  readonly event: { readonly type: string; readonly [field: string]: unknown }
}

const otherEvent = v.looseObject({
  type: prose,
  seq: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
})

/**
 * Reads one line of a crew's answer. Raises a `SyntaxError` or valibot's error for a line that is
 * no event.
 */
export function parseCrewEvent(line: string): CrewEvent | OtherEvent {
  const json: unknown = JSON.parse(line)
  const result = v.safeParse(crewEvent, json)
  if (result.success) return result.output
  const known: readonly string[] = crewEvent.options.map(({ entries }) => entries.type.literal)
  const event = v.parse(otherEvent, json)
  if (known.includes(event.type)) throw new v.ValiError(result.issues)
  return { type: 'other', seq: event.seq, event: toStorable(event) }
}

function toStorable(event: OtherEvent['event']): OtherEvent['event'] {
  const text = storable(event)
  const { type, at } = event
  if (text.length > MESSAGE_CHARACTERS_MAX) return { type, at, left_out_characters: text.length }
  return v.parse(otherEvent, JSON.parse(text))
}
