import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface ModelRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: {
    readonly model: string
    readonly messages: readonly { readonly role: string; readonly content: string }[]
    readonly [field: string]: unknown
  }
  /** Resolves when the client hangs up before it was answered. */
  readonly abandoned: Promise<void>
}

export type Answer = (response: ServerResponse, request: ModelRequest) => void

export interface FakeModel {
  /** With the version path. */
  readonly baseUrl: string
  readonly requests: ModelRequest[]
  /** What the next requests get, in order; the last one is repeated. */
  play(...answers: Answer[]): void
  /** Resolves with the next request that arrives. */
  arrival(): Promise<ModelRequest>
  stop(): Promise<void>
}

interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly prompt_tokens_details?: { readonly cached_tokens: number }
  readonly completion_tokens_details?: { readonly reasoning_tokens: number }
}

export const says =
  (content: string, usage: Usage = { prompt_tokens: 10, completion_tokens: 5 }): Answer =>
  (response, { body }) => {
    const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }]
    const completion = { id: 'chatcmpl-1', model: `${body.model}-2026`, choices, usage }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(completion))
  }

/** Says something word by word, whoever asks. */
export const writes =
  (...words: string[]): Answer =>
  (response) => {
    const parts = words.map((content) => ({ choices: [{ delta: { content } }] }))
    const usage = { prompt_tokens: 10, completion_tokens: 5 }
    const end = { choices: [{ delta: {}, finish_reason: 'stop' }], usage }
    response.setHeader('content-type', 'text/event-stream')
    for (const part of [...parts, end]) response.write(`data: ${JSON.stringify(part)}\n\n`)
    response.end('data: [DONE]\n\n')
  }

/** Asks for calls of tools. */
export const asks =
  (...calls: (readonly [name: string, given: unknown])[]): Answer =>
  (response, { body }) => {
    const tool_calls = calls.map(([name, given], index) => ({
      id: `call-${index}`,
      type: 'function',
      function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
    }))
    send(response, { role: 'assistant', content: null, tool_calls }, body.model)
  }

export const saysNothing: Answer = (response, { body }) =>
  send(response, { role: 'assistant', content: null }, body.model)

function send(response: ServerResponse, message: object, model: string): void {
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: 'x', model, choices: [{ message }], usage }))
}

export const refuses =
  (status: number, message: string, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message } }))
  }

/** A message in an answer of `responses`. */
export const messageOf = (text: string, more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  ...more,
})

/** An answer of `responses`, as OpenAI's reference has it. */
export const responseOf = (output: readonly object[], more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_795_431_670,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'gpt-5.6-2026-07-01',
  output,
  store: false,
  usage: {
    input_tokens: 70,
    input_tokens_details: { cached_tokens: 40, cache_write_tokens: 0 },
    output_tokens: 30,
    output_tokens_details: { reasoning_tokens: 20 },
    total_tokens: 100,
  },
  ...more,
})

export const responds =
  (output: readonly object[], more: object = {}): Answer =>
  (response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(responseOf(output, more)))
  }

export const isSilent: Answer = () => {}

/** A model that answers what a test tells it to. */
export async function startFakeModel(): Promise<FakeModel> {
  let answers: Answer[] = [says('fine')]
  let arrived: ((request: ModelRequest) => void)[] = []
  const requests: ModelRequest[] = []
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => receive(incoming, response, Buffer.concat(chunks)))
  })
  function receive(incoming: IncomingMessage, response: ServerResponse, content: Buffer): void {
    const abandoned = new Promise<void>((resolve) => {
      response.on('close', () => !response.writableFinished && resolve())
    })
    const body = JSON.parse(content.toString()) as ModelRequest['body']
    const request = { path: incoming.url ?? '', headers: incoming.headers, body, abandoned }
    requests.push(request)
    for (const resolve of arrived) resolve(request)
    arrived = []
    const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers
    answer?.(response, request)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    play: (...next) => void (answers = next),
    arrival: () => new Promise((resolve) => arrived.push(resolve)),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
