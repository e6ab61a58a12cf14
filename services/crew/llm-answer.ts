import * as v from 'valibot'

const SAID_CHARACTERS_MAX = 500

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Providers write `null` for what they do not know. */
const known = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(
    v.nullish(schema),
    v.transform((given) => given ?? undefined),
  )

/** Some write the arguments as an object, and no ids. */
const toolCall = v.object({
  id: known(v.string()),
  function: v.object({
    name: v.string(),
    arguments: v.pipe(
      v.nullish(v.union([v.string(), v.record(v.string(), v.unknown())]), ''),
      v.transform((given) => (typeof given === 'string' ? given : JSON.stringify(given))),
    ),
  }),
})

const completionBody = v.object({
  id: known(v.string()),
  model: known(v.string()),
  choices: v.pipe(
    v.array(
      v.object({
        message: v.object({ content: known(v.string()), tool_calls: known(v.array(toolCall)) }),
        finish_reason: known(v.string()),
      }),
    ),
    v.minLength(1, 'must hold a choice'),
  ),
  usage: known(
    v.object({
      prompt_tokens: known(count),
      completion_tokens: known(count),
      prompt_tokens_details: known(v.object({ cached_tokens: known(count) })),
    }),
  ),
})

const errorBody = v.object({
  error: v.union([v.string(), v.object({ message: v.string() })]),
})

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
})
/** A model's answer. */
export type Completion = v.InferOutput<typeof completion>

/**
 * Reads the answer of `chat/completions`; for anything else returns a description of it. A model
 * with tools may answer with calls of them, or nothing, for which it can be asked again.
 */
export function readCompletion(body: string, hasTools: boolean): Completion | string {
  const result = v.safeParse(completionBody, parse(body))
  if (!result.success) {
    if (parse(body) === undefined) return 'something that is not JSON'
    const [issue] = result.issues
    return `JSON that is no chat completion (${v.getDotPath(issue) ?? 'body'}: ${issue.message})`
  }
  const { id, model, choices, usage } = result.output
  const { text, toolCalls, finishReason } = readChoice(choices[0])
  if (text === '' && !hasTools) return `no text (finish_reason: ${finishReason ?? 'none'})`
  const tokens = {
    inputTokens: usage?.prompt_tokens,
    outputTokens: usage?.completion_tokens,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens,
  }
  const asked = hasTools && toolCalls.length > 0 ? { toolCalls } : {}
  return { text, ...asked, finishReason, id, model, ...tokens }
}

type Choice = v.InferOutput<typeof completionBody>['choices'][number]

function readChoice(choice: Choice | undefined) {
  const { content: text = '', tool_calls: calls = [] } = choice?.message ?? {}
  const toolCalls = calls.map(({ id, function: { name, arguments: given } }, index) => ({
    id: id ?? `call_${index}`,
    name,
    arguments: given,
  }))
  return { text, toolCalls, finishReason: choice?.finish_reason }
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
