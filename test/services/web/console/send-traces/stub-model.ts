import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the model answers once it knows the result of a tool, or has none to call. */
export const ANSWER = 'It is 18 degrees in Paris.'
/** What each call has used. */
export const TOKENS = { input: 123, output: 45 }

interface Body {
  readonly model: string
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly messages?: readonly { readonly role: string }[]
}

/** Calls the first tool that is offered, once. */
function completionOf({ model, tools, messages = [] }: Body) {
  const tool = tools?.[0]?.function.name
  const isAsking = tool !== undefined && !messages.some(({ role }) => role === 'tool')
  const call = { name: tool, arguments: '{"city":"Paris"}' }
  const message = isAsking
    ? { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
    : { content: ANSWER }
  const finish = isAsking ? 'tool_calls' : 'stop'
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_735_689_600,
    model: `${model}-2025-08-07`,
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: {
      prompt_tokens: TOKENS.input,
      completion_tokens: TOKENS.output,
      total_tokens: TOKENS.input + TOKENS.output,
    },
  }
}

const responseOf = ({ model }: Body) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_735_689_600,
  status: 'completed',
  model: `${model}-2025-08-07`,
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: ANSWER, annotations: [] }],
    },
  ],
  usage: {
    input_tokens: TOKENS.input,
    output_tokens: TOKENS.output,
    total_tokens: TOKENS.input + TOKENS.output,
  },
})

/** A model that speaks OpenAI's chat completions and responses, without streams. */
export async function startStubModel(): Promise<{ baseUrl: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
      const answer = request.url?.endsWith('/responses') ? responseOf(body) : completionOf(body)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
