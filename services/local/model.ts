import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { streamText } from 'hono/streaming'
import * as v from 'valibot'
import type { Log } from '../shared/log.ts'
import { serve } from '../shared/http/serve.ts'
import type { Service } from '../shared/http/serve.ts'
import { composeAnswer } from './model-answer.ts'
import { nextCall, offeredTool } from './model-calls.ts'

const BODY_BYTES_MAX = 8_388_608
const WORD_MS = 25
/** The rough average of OpenAI's models for English text. */
const CHARACTERS_PER_TOKEN = 4

const content = v.union([
  v.string(),
  v.array(v.object({ type: v.literal('text'), text: v.string() })),
])

const toolCall = v.object({ id: v.string(), function: v.object({ name: v.string() }) })
const message = v.union([
  v.object({ role: v.picklist(['system', 'developer', 'user', 'assistant']), content }),
  v.object({
    role: v.literal('assistant'),
    content: v.nullish(content),
    tool_calls: v.array(toolCall),
  }),
  v.object({ role: v.literal('tool'), content, tool_call_id: v.string() }),
])

const completionRequest = v.object({
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  messages: v.pipe(v.array(message), v.minLength(1, 'must hold a message')),
  tools: v.nullish(v.array(offeredTool)),
  tool_choice: v.optional(v.unknown()),
  temperature: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(2))),
  max_tokens: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
  max_completion_tokens: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1))),
  n: v.nullish(v.literal(1, 'the demo model gives one answer')),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean()) })),
})
type CompletionRequest = v.InferOutput<typeof completionRequest>

interface ModelOptions {
  /** 0 lets the system choose. */
  readonly port: number
  readonly log: Log
  /** The time before it answers, in milliseconds. @default 150 */
  readonly latencyMs?: number
}

/**
 * Serves the built-in demo model on this machine only: an OpenAI-compatible `/v1` that needs no key
 * and no network. It knows nothing: the same conversation always gets the same short text, made of
 * its own words.
 */
export async function startModel({ port, log, latencyMs = 150 }: ModelOptions): Promise<Service> {
  const stopping = new AbortController()
  return serve({
    fetch: createModel({ latencyMs, signal: stopping.signal }).fetch,
    port,
    host: '127.0.0.1',
    log,
    onDrain: () => stopping.abort(),
  })
}

function createModel({ latencyMs, signal }: { latencyMs: number; signal: AbortSignal }): Hono {
  const app = new Hono()
  app.get('/v1/models', (c) =>
    c.json({
      object: 'list',
      data: [{ id: 'demo', object: 'model', created: 0, owned_by: 'built-in' }],
    }),
  )
  const limitBody = bodyLimit({
    maxSize: BODY_BYTES_MAX,
    onError: (c) => refuse(c, 413, { message: `The body is larger than ${BODY_BYTES_MAX} bytes.` }),
  })
  app.post('/v1/chat/completions', limitBody, async (c) => {
    const json: unknown = await c.req.json().catch(() => undefined)
    if (json === undefined) return refuse(c, 400, { message: 'The body is not valid JSON.' })
    const request = v.safeParse(completionRequest, json)
    if (!request.success) {
      const [issue] = request.issues
      const param = v.getDotPath(issue) ?? undefined
      return refuse(c, 400, { message: `${param ?? 'body'}: ${issue.message}`, param })
    }
    await sleep(latencyMs, undefined, { signal }).catch(() => {})
    const completion = complete(request.output)
    return request.output.stream ? streamWords(c, completion, request.output) : c.json(completion)
  })
  app.notFound((c) => refuse(c, 404, { message: `Unknown URL: ${c.req.method} ${c.req.path}` }))
  return app
}

function refuse(c: Context, status: 400 | 404 | 413, error: { message: string; param?: string }) {
  const { message, param = null } = error
  return c.json({ error: { message, type: 'invalid_request_error', param, code: null } }, status)
}

function complete(request: CompletionRequest) {
  const messages = request.messages.map(({ role, content: said }) => ({ role, text: textOf(said) }))
  const digest = createHash('sha256')
    .update(JSON.stringify([request.model, messages]))
    .digest('hex')
    .slice(0, 24)
  const call = request.tool_choice === 'none' ? null : callOf(request)
  const { message: said, finish_reason } = call
    ? asCall(`call_${digest}`, call)
    : asText(composeAnswer(messages), request)
  const prompt_tokens = messages.reduce((sum, { text }) => sum + countTokens(text) + 4, 3)
  const completion_tokens = countTokens(call?.arguments ?? said.content ?? '')
  return {
    id: `chatcmpl-demo-${digest}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...said },
        logprobs: null,
        finish_reason,
      },
    ],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  }
}

interface Said {
  readonly message: { readonly content: string | null; readonly tool_calls?: readonly object[] }
  readonly finish_reason: string
}

const asCall = (id: string, call: object): Said => ({
  message: { content: null, tool_calls: [{ id, type: 'function', function: call }] },
  finish_reason: 'tool_calls',
})

function asText(whole: string, { max_completion_tokens, max_tokens }: CompletionRequest): Said {
  const limit = max_completion_tokens ?? max_tokens ?? Infinity
  return countTokens(whole) > limit
    ? {
        message: { content: whole.slice(0, limit * CHARACTERS_PER_TOKEN) },
        finish_reason: 'length',
      }
    : { message: { content: whole }, finish_reason: 'stop' }
}

function callOf({ messages, tools }: CompletionRequest): ReturnType<typeof nextCall> {
  const asked = messages.findLast(({ role }) => role === 'user')
  const called = messages.flatMap((each) => ('tool_calls' in each ? each.tool_calls : []))
  return nextCall({
    text: textOf(asked?.content),
    tools: tools ?? [],
    called: new Set(called.map((each) => each.function.name)),
  })
}

type Completion = ReturnType<typeof complete>

/** Sends an answer word by word, as fast as a person reads. */
function streamWords(
  c: Context,
  { choices, usage, object: _object, ...head }: Completion,
  { stream_options }: CompletionRequest,
): Response {
  const [choice] = choices
  const words = choice?.message.content?.match(/\S+\s*/g) ?? []
  const chunk = (delta: object, more: object = {}): string => {
    const part = { index: 0, delta, logprobs: null, finish_reason: null, ...more }
    return frame({ ...head, object: 'chat.completion.chunk', choices: [part] })
  }
  return streamText(c, async (stream) => {
    c.header('content-type', 'text/event-stream')
    await stream.write(chunk({ role: 'assistant', content: '' }))
    const calls = choice?.message.tool_calls?.map((call, index) => ({ index, ...call }))
    if (calls) await stream.write(chunk({ tool_calls: calls }))
    for (const content of words) {
      if (stream.aborted) return
      await stream.write(chunk({ content }))
      await stream.sleep(WORD_MS)
    }
    await stream.write(chunk({}, { finish_reason: choice?.finish_reason }))
    const total = { ...head, object: 'chat.completion.chunk', choices: [], usage }
    if (stream_options?.include_usage) await stream.write(frame(total))
    await stream.write('data: [DONE]\n\n')
  })
}

const frame = (part: object): string => `data: ${JSON.stringify(part)}\n\n`

type Content = CompletionRequest['messages'][number]['content']

const textOf = (said: Content): string =>
  typeof said === 'string' ? said : (said ?? []).map(({ text }) => text).join('\n')
const countTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN)
