import * as v from 'valibot'
import {
  count,
  describeNothing,
  known,
  parseJson,
  serviceTier,
  toolArguments,
} from '../llm-answer.ts'
import type { Completion } from '../llm-answer.ts'

const messagePart = v.looseObject({
  type: v.string(),
  text: known(v.string()),
  refusal: known(v.string()),
})

const outputItem = v.variant('type', [
  v.looseObject({
    type: v.literal('message'),
    content: known(v.array(messagePart)),
    /** What is said beside the calls of tools is `commentary`. */
    phase: known(v.string()),
  }),
  v.looseObject({
    type: v.literal('function_call'),
    call_id: v.string(),
    name: v.string(),
    arguments: toolArguments,
  }),
  v.looseObject({ type: v.literal('reasoning'), encrypted_content: known(v.string()) }),
])
type OutputItem = v.InferOutput<typeof outputItem>

const responseBody = v.object({
  id: known(v.string()),
  model: known(v.string()),
  status: known(v.string()),
  service_tier: serviceTier,
  error: known(v.unknown()),
  incomplete_details: known(v.object({ reason: known(v.string()) })),
  output: v.pipe(
    v.array(v.looseObject({ type: v.string() })),
    // There are other types, of tools that are not asked for.
    v.transform((items) => items.filter(({ type }) => TYPES.has(type))),
    v.array(outputItem),
  ),
  usage: known(
    v.object({
      input_tokens: known(count),
      output_tokens: known(count),
      input_tokens_details: known(v.object({ cached_tokens: known(count) })),
      output_tokens_details: known(v.object({ reasoning_tokens: known(count) })),
    }),
  ),
})
type ResponseBody = v.InferOutput<typeof responseBody>

const TYPES: ReadonlySet<string> = new Set(['message', 'function_call', 'reasoning'])

/** Reads an answer of `responses`, as the `read` of its form. */
export function readResponse(
  body: string,
  hasTools: boolean,
): Completion | string | { readonly errorBody: string } {
  const json = parseJson(body)
  if (json === undefined) return 'something that is not JSON'
  const result = v.safeParse(responseBody, json)
  if (!result.success) {
    const [issue] = result.issues
    return `JSON that is no response (${v.getDotPath(issue) ?? 'body'}: ${issue.message})`
  }
  const { id, model, status, error, output, usage } = result.output
  if (status === 'failed') return { errorBody: JSON.stringify({ error }) }
  const { text, refusal } = saidIn(output)
  const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
  const finishReason = finishReasonOf(result.output, calls.length > 0)
  if (text === '' && !hasTools) return describeNothing(finishReason, refusal)
  return {
    text,
    ...(hasTools && calls.length > 0 ? { toolCalls: calls.map(toCall), ...sealed(output) } : {}),
    finishReason,
    id,
    model,
    serviceTier: result.output.service_tier,
    ...tokensOf(usage),
  }
}

const toCall = (item: Extract<OutputItem, { type: 'function_call' }>) => ({
  id: item.call_id,
  name: item.name,
  arguments: item.arguments,
})

/** Joins what the model says, without its commentary where there is more. */
function saidIn(output: readonly OutputItem[]) {
  const messages = output.flatMap((item) => (item.type === 'message' ? [item] : []))
  const final = messages.filter(({ phase }) => phase !== 'commentary')
  const parts = (final.length > 0 ? final : messages).flatMap(({ content = [] }) => content)
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    refusal: parts.map(({ refusal = '' }) => refusal).join(''),
  }
}

/** What was not sealed is known to nobody but a provider that keeps it: it cannot go back. */
function sealed(output: readonly OutputItem[]): Pick<Completion, 'items'> {
  const isKept = (item: OutputItem): boolean =>
    item.type !== 'reasoning' || item.encrypted_content !== undefined
  const isSealed = output.some((item) => item.type === 'reasoning' && isKept(item))
  return isSealed ? { items: output.filter(isKept) } : {}
}

/** In the words of `chat/completions`. */
function finishReasonOf({ status, incomplete_details }: ResponseBody, hasCalls: boolean) {
  if (status === 'incomplete') {
    const { reason = status } = incomplete_details ?? {}
    return reason === 'max_output_tokens' ? 'length' : reason
  }
  return hasCalls ? 'tool_calls' : 'stop'
}

const tokensOf = (usage: ResponseBody['usage']) => ({
  inputTokens: usage?.input_tokens,
  outputTokens: usage?.output_tokens,
  cachedInputTokens: usage?.input_tokens_details?.cached_tokens,
  reasoningTokens: usage?.output_tokens_details?.reasoning_tokens,
})
