import * as v from 'valibot'
import { parseJson } from '../llm-answer.ts'
import type { HearText, StreamedAnswer } from './wire-form.ts'

const given = <Schema extends v.GenericSchema>(schema: Schema) => v.nullish(schema)

const chunk = v.object({
  id: given(v.string()),
  model: given(v.string()),
  service_tier: v.optional(v.unknown()),
  choices: given(
    v.array(
      v.object({
        delta: given(
          v.object({
            content: given(v.string()),
            refusal: given(v.string()),
            tool_calls: given(
              v.array(
                v.object({
                  index: given(v.number()),
                  id: given(v.string()),
                  function: given(
                    v.object({ name: given(v.string()), arguments: given(v.string()) }),
                  ),
                }),
              ),
            ),
          }),
        ),
        finish_reason: given(v.string()),
      }),
    ),
  ),
  usage: given(v.unknown()),
  error: v.optional(v.unknown()),
})
type Chunk = v.InferOutput<typeof chunk>

interface ToolCall {
  id?: string
  function: { name: string; arguments: string }
}

interface Whole {
  id?: string
  model?: string
  service_tier?: unknown
  usage?: unknown
  error?: unknown
  content: string
  refusal: string
  finishReason?: string
  readonly toolCalls: Map<number, ToolCall>
}

/** Puts the parts of an answer of `chat/completions` together. */
export function openChatStream(hearText: HearText): StreamedAnswer {
  const whole: Whole = { content: '', refusal: '', toolCalls: new Map() }
  let isDone = false
  /** The first event that is no part of an answer. */
  let foreign: string | undefined
  return {
    add(data) {
      if (data.trim() === '[DONE]') return void (isDone = true)
      const part = parse(data)
      if (part) addChunk(whole, part, hearText)
      else foreign ??= data
    },
    whole() {
      if (foreign !== undefined) return { body: foreign }
      const { error, finishReason } = whole
      if (error !== undefined) return { status: 502, body: JSON.stringify({ error }) }
      if (!isDone && finishReason === undefined) throw new Error('its answer broke off')
      return { body: JSON.stringify(toCompletion(whole)) }
    },
  }
}

function parse(data: string): Chunk | undefined {
  const result = v.safeParse(chunk, parseJson(data))
  return result.success ? result.output : undefined
}

function addChunk(whole: Whole, part: Chunk, hear: HearText): void {
  const { id, model, usage, error, choices } = part
  if (id) whole.id ??= id
  if (model) whole.model ??= model
  // The one that served is known at the end.
  whole.service_tier = part.service_tier ?? whole.service_tier
  whole.usage = usage ?? whole.usage
  whole.error ??= error
  for (const choice of (choices ?? []).slice(0, 1)) addChoice(whole, choice, hear)
}

type Choice = NonNullable<Chunk['choices']>[number]

function addChoice(whole: Whole, { delta, finish_reason: reason }: Choice, hear: HearText): void {
  if (reason) whole.finishReason = reason
  const { content, refusal, tool_calls: calls } = delta ?? {}
  if (content) {
    hear(content, whole.content.length)
    whole.content += content
  }
  whole.refusal += refusal ?? ''
  for (const [place, call] of (calls ?? []).entries()) addCall(whole, call.index ?? place, call)
}

type CallPart = NonNullable<NonNullable<Choice['delta']>['tool_calls']>[number]

/** The first part of a call names it; the others bring more of its arguments. */
function addCall({ toolCalls }: Whole, index: number, { id, function: part }: CallPart): void {
  const call = toolCalls.get(index) ?? { function: { name: '', arguments: '' } }
  toolCalls.set(index, call)
  if (id) call.id = id
  if (part?.name) call.function.name = part.name
  call.function.arguments += part?.arguments ?? ''
}

function toCompletion(whole: Whole) {
  const { id, model, service_tier, usage, content, refusal, finishReason, toolCalls } = whole
  const tool_calls = [...toolCalls].toSorted(([a], [b]) => a - b).map(([, call]) => call)
  const said = { role: 'assistant', content, refusal }
  const message = { ...said, ...(tool_calls.length > 0 && { tool_calls }) }
  return { id, model, service_tier, usage, choices: [{ message, finish_reason: finishReason }] }
}
