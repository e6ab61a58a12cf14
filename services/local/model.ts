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

const BODY_BYTES_MAX = 8_388_608
const WORD_MS = 25
/** The rough average of OpenAI's models for English text. */
const CHARACTERS_PER_TOKEN = 4

const content = v.union([
  v.string(),
  v.array(v.object({ type: v.literal('text'), text: v.string() })),
])

const completionRequest = v.object({
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  messages: v.pipe(
    v.array(v.object({ role: v.picklist(['system', 'developer', 'user', 'assistant']), content })),
    v.minLength(1, 'must hold a message'),
  ),
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
  const whole = composeAnswer(messages)
  const limit = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  const cut = countTokens(whole) > limit
  const answer = cut ? whole.slice(0, limit * CHARACTERS_PER_TOKEN) : whole
  const prompt_tokens = messages.reduce((sum, { text }) => sum + countTokens(text) + 4, 3)
  const completion_tokens = countTokens(answer)
  return {
    id: `chatcmpl-demo-${digestOf([request.model, messages])}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: request.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer, refusal: null },
        logprobs: null,
        finish_reason: cut ? 'length' : 'stop',
      },
    ],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  }
}

type Completion = ReturnType<typeof complete>

/** Sends an answer word by word, as fast as a person reads. */
function streamWords(
  c: Context,
  { choices, usage, object: _object, ...head }: Completion,
  { stream_options }: CompletionRequest,
): Response {
  const [choice] = choices
  const words = choice?.message.content.match(/\S+\s*/g) ?? []
  const chunk = (delta: object, more: object = {}): string => {
    const part = { index: 0, delta, logprobs: null, finish_reason: null, ...more }
    return frame({ ...head, object: 'chat.completion.chunk', choices: [part] })
  }
  return streamText(c, async (stream) => {
    c.header('content-type', 'text/event-stream')
    await stream.write(chunk({ role: 'assistant', content: '' }))
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
  typeof said === 'string' ? said : said.map(({ text }) => text).join('\n')
const countTokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN)
const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24)
