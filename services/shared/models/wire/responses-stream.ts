import * as v from 'valibot'
import { parseJson } from '../llm-answer.ts'
import type { HearText, StreamedAnswer } from './wire-form.ts'

const response = v.looseObject({ output: v.optional(v.array(v.unknown()), []) })

const streamEvent = v.looseObject({
  type: v.string(),
  delta: v.optional(v.unknown()),
  item: v.optional(v.unknown()),
  response: v.nullish(response),
})
type StreamEvent = v.InferOutput<typeof streamEvent>

const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

/** Puts the events of `responses` together: the last one has the answer as a whole. */
export function openResponseStream(hearText: HearText): StreamedAnswer {
  const items: unknown[] = []
  let heard = 0
  let end: StreamEvent | undefined
  let error: StreamEvent | undefined
  /** The first event that is no part of an answer. */
  let foreign: string | undefined
  function take(event: StreamEvent): void {
    const { type, delta, item } = event
    if (type === 'response.output_text.delta' && typeof delta === 'string' && delta !== '') {
      hearText(delta, heard)
      heard += delta.length
    }
    if (type === 'response.output_item.done') items.push(item)
    if (type === 'error') error ??= event
    if (ENDS.has(type)) end = event
  }
  return {
    add(data) {
      if (data.trim() === '[DONE]') return
      const read = v.safeParse(streamEvent, parseJson(data))
      if (read.success) take(read.output)
      else foreign ??= data
    },
    whole() {
      if (foreign !== undefined) return { body: foreign }
      if (error) return { status: 502, body: JSON.stringify({ error: error['error'] ?? error }) }
      if (!end?.response) throw new Error('its answer broke off')
      const { output, ...facts } = end.response
      // Some send the items only as they are done.
      return { body: JSON.stringify({ ...facts, output: output.length > 0 ? output : items }) }
    },
  }
}
