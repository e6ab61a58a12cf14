import * as v from 'valibot'

const SAID_CHARACTERS_MAX = 500

/** A word for how fast, and at which price, a provider answers a call, such as `flex`. */
export const SERVICE_TIER = /^[a-z0-9][a-z0-9_-]{0,39}$/

/** A number of tokens. */
export const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** A field that may lack; providers write `null` for what they do not know. */
export const known = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(
    v.nullish(schema),
    v.transform((given) => given ?? undefined),
  )

/** The arguments of a tool as JSON; some write them as an object. */
export const toolArguments = v.pipe(
  v.nullish(v.union([v.string(), v.record(v.string(), v.unknown())]), ''),
  v.transform((given) => (typeof given === 'string' ? given : JSON.stringify(given))),
)

/** The service tier of an answer; what is not the name of one counts as none. */
export const serviceTier = v.fallback(
  v.optional(v.pipe(v.string(), v.regex(SERVICE_TIER))),
  undefined,
)

/** A model's answer, as a step records it. Some providers leave out ids and token counts. */
export const completion = v.object({
  /** Empty when the model calls tools, or answers nothing though it has some. */
  text: v.string(),
  toolCalls: v.optional(
    v.array(v.object({ id: v.string(), name: v.string(), arguments: v.string() })),
  ),
  id: v.optional(v.string()),
  model: v.optional(v.string()),
  finishReason: v.optional(v.string()),
  inputTokens: v.optional(count),
  outputTokens: v.optional(count),
  /** Those of the input that the provider had in its cache. */
  cachedInputTokens: v.optional(count),
  /** Those of the output that the model reasoned with. */
  reasoningTokens: v.optional(count),
  /** By which the call is billed; none: the usual one. */
  serviceTier: v.optional(v.string()),
  /**
   * The items of an answer that calls tools, as its provider wants them back with the results: what
   * the model reasoned is sealed in them.
   */
  items: v.optional(v.array(v.record(v.string(), v.unknown()))),
})
/** A model's answer. */
export type Completion = v.InferOutput<typeof completion>

/** Parses JSON; returns undefined for what is none. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Describes an answer without text, with the model's refusal if it wrote one. */
export const describeNothing = (finishReason: string | undefined, refusal = ''): string =>
  refusal === ''
    ? `no text (finish_reason: ${finishReason ?? 'none'})`
    : `a refusal: ${refusal.slice(0, SAID_CHARACTERS_MAX)}`
