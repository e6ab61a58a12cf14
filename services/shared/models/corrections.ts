import { asksForResponses, lacksCapacity } from './refusals.ts'
import type { Refusal } from './refusals.ts'
import type { LlmCall } from './llm-call.ts'
import type { HearText } from './wire/wire-form.ts'

/** What is known of an endpoint for a model. */
export interface Habit {
  readonly form: 'chat_completions' | 'responses'
  /** `chat/completions` takes tools only from models that do not reason. */
  readonly areToolsUnreasoned: boolean
  /** The endpoint seals nothing of what its models reason. */
  readonly isUnsealed: boolean
  /** The endpoint takes no service tier for the model. */
  readonly isWithoutTiers: boolean
}

interface Failure {
  readonly code: 'llm_rejected'
  readonly message: string
}

/** A call in the form in which it is made, and who follows its answer. */
export interface Asked {
  readonly call: LlmCall
  readonly hearText?: HearText | undefined
  readonly habit: Habit
  /** The service tier that is asked for; undefined: the usual one. */
  readonly tier?: string | undefined
  /** The one that was asked for before, and why it was not given. */
  readonly refusedTier?: { readonly tier: string; readonly error: Failure } | undefined
  /** The form may be changed for another one. */
  readonly isFormFree: boolean
}

/**
 * Returns the call as the endpoint asks for it in its refusal; undefined when it asks for nothing
 * that can be done. Each change is made once at the most.
 */
export function correct(asked: Asked, refusal: Refusal): Asked | undefined {
  const { call, hearText } = asked
  if (asked.tier !== undefined) {
    const usual = { ...asked, tier: undefined }
    if (lacksCapacity(refusal)) return usual
    if (refusal.status < 429 && /service.?tier/i.test(refusal.body)) {
      return { ...usual, habit: { ...asked.habit, isWithoutTiers: true } }
    }
  }
  if (hearText && /stream/i.test(refusal.body)) return { ...asked, hearText: undefined }
  if (call.response_format && /response.?format|json_schema|text\.format/i.test(refusal.body)) {
    const { response_format: _format, ...plain } = call
    return { ...asked, call: plain }
  }
  return asked.habit.form === 'responses'
    ? correctResponses(asked, refusal)
    : correctChat(asked, refusal)
}

/** Models that reason take tools at `/v1/responses` only, or without reasoning. */
function correctChat(asked: Asked, refusal: Refusal): Asked | undefined {
  const { call, habit, isFormFree } = asked
  const canBeUnreasoned =
    call.tools !== undefined &&
    call.reasoning_effort === undefined &&
    !habit.areToolsUnreasoned &&
    /reasoning_effort to \W*none/i.test(refusal.body)
  const unreasoned = { ...habit, areToolsUnreasoned: habit.areToolsUnreasoned || canBeUnreasoned }
  if (isFormFree && asksForResponses(refusal)) {
    return { ...asked, habit: { ...unreasoned, form: 'responses' } }
  }
  return canBeUnreasoned ? { ...asked, habit: unreasoned } : undefined
}

function correctResponses(asked: Asked, { status, body }: Refusal): Asked | undefined {
  const { call, habit, isFormFree } = asked
  if (isFormFree && (status === 404 || status === 405)) {
    return { ...asked, isFormFree: false, habit: { ...habit, form: 'chat_completions' } }
  }
  if (habit.isUnsealed || !/encrypted.content/i.test(body)) return undefined
  // Sealed elsewhere, perhaps: the connection has changed since.
  const isForeign = call.messages.some(({ items }) => items)
  if (!isForeign) return { ...asked, habit: { ...habit, isUnsealed: true } }
  const messages = call.messages.map(({ items: _items, ...message }) => message)
  return { ...asked, call: { ...call, messages } }
}
