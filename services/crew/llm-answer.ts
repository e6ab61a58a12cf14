import * as v from 'valibot'

const SAID_CHARACTERS_MAX = 500

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Providers write `null` for what they do not know. */
const known = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(
    v.nullish(schema),
    v.transform((given) => given ?? undefined),
  )

const completionBody = v.object({
  id: known(v.string()),
  model: known(v.string()),
  choices: v.pipe(
    v.array(
      v.object({
        message: v.object({ content: known(v.string()) }),
        finish_reason: known(v.string()),
      }),
    ),
    v.minLength(1, 'must hold a choice'),
  ),
  usage: known(v.object({ prompt_tokens: known(count), completion_tokens: known(count) })),
})

const errorBody = v.object({
  error: v.union([v.string(), v.object({ message: v.string() })]),
})

/** A model's answer, as a step records it. Some providers leave out ids and token counts. */
export const completion = v.object({
  text: v.string(),
  id: v.optional(v.string()),
  model: v.optional(v.string()),
  finishReason: v.optional(v.string()),
  inputTokens: v.optional(count),
  outputTokens: v.optional(count),
})
/** A model's answer. */
export type Completion = v.InferOutput<typeof completion>

/** Reads the answer of `chat/completions`; for anything else returns a description of it. */
export function readCompletion(body: string): Completion | string {
  const json = parse(body)
  if (json === undefined) return 'something that is not JSON'
  const result = v.safeParse(completionBody, json)
  if (!result.success) {
    const [issue] = result.issues
    return `JSON that is no chat completion (${v.getDotPath(issue) ?? 'body'}: ${issue.message})`
  }
  const { id, model, choices, usage } = result.output
  const [choice] = choices
  const finishReason = choice?.finish_reason
  const text = choice?.message.content
  if (!text) return `no text (finish_reason: ${finishReason ?? 'none'})`
  const tokens = { inputTokens: usage?.prompt_tokens, outputTokens: usage?.completion_tokens }
  return { text, finishReason, id, model, ...tokens }
}

/**
 * Returns a provider's reason for a refusal, ready to follow `HTTP 401`; without the key, which
 * some providers repeat.
 */
export function readRefusal(body: string, key: string | undefined): string {
  const result = v.safeParse(errorBody, parse(body))
  if (!result.success) return '.'
  const { error } = result.output
  const said = typeof error === 'string' ? error : error.message
  const safe = key === undefined ? said : said.replaceAll(key, '[key]')
  // Also other keys, and those that the provider has shortened by itself.
  const clean = safe.replace(/\b(sk|pk|key)-[\w*.-]{4,}/gi, '[key]')
  return `: ${clean.slice(0, SAID_CHARACTERS_MAX)}`
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
