import type { IncomingMessage } from 'node:http'
import { startHttpServer } from '../support/http-server.ts'

/** A request for a chat completion, as far as it matters here. */
interface Asked {
  readonly model: string
  readonly service_tier?: string
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

/** The key of the model: no event and no log may hold it. */
export const MODEL_KEY = 'key-of-the-scripted-model'

/** What a model asks tools by default. */
const askBees = (_tool: string): object => ({ text: 'bees' })

/**
 * Starts a model that calls the first tool that it is offered once in a conversation, and answers
 * with what `answer` makes of the question.
 */
export async function startModel(answer: (question: string) => string, ask = askBees) {
  const asked: Asked[] = []
  /** What requests for a service tier are answered. */
  const tiers: { refusal?: readonly [status: number, message: string] } = {}
  const strangers: string[] = []
  const server = await startHttpServer((incoming, response) => {
    readJson(incoming)
      .then((request) => {
        const given = incoming.headers.authorization
        if (given !== `Bearer ${MODEL_KEY}`) strangers.push(String(given))
        asked.push(request)
        response.setHeader('content-type', 'application/json')
        const { refusal } = request.service_tier === undefined ? {} : tiers
        if (refusal) {
          response.writeHead(refusal[0]).end(JSON.stringify({ error: { message: refusal[1] } }))
          return
        }
        response.end(JSON.stringify(completionOf(request, { answer, ask })))
      })
      .catch((thrown: unknown) => response.writeHead(400).end(String(thrown)))
  })
  return {
    endpoint: { base_url: `${server.url}/v1`, api_key: MODEL_KEY },
    asked,
    tiers,
    /** Authorization headers without the key of the model. */
    strangers,
    stop: () => server.stop(),
  }
}

interface Script {
  readonly answer: (question: string) => string
  /** The arguments for a tool. */
  readonly ask: (tool: string) => object
}

function completionOf(
  { model, messages, tools = [], service_tier }: Asked,
  { answer, ask }: Script,
) {
  const [tool] = tools
  const isFirst = !messages.some(({ role }) => role === 'tool')
  const question = messages.map(({ content }) => textOf(content)).join('\n')
  const message = {
    role: 'assistant',
    ...(tool && isFirst
      ? { content: null, tool_calls: [callOf(tool.function.name, ask)] }
      : { content: answer(question) }),
  }
  const finish_reason = tool && isFirst ? 'tool_calls' : 'stop'
  const choices = [{ index: 0, message, finish_reason }]
  const prompt_tokens_details = { cached_tokens: 4 }
  const usage = { prompt_tokens: 10, prompt_tokens_details, completion_tokens: 5, total_tokens: 15 }
  const facts = { id: 'scripted', object: 'chat.completion', created: 1, model }
  return { ...facts, choices, usage, service_tier: service_tier ?? 'default' }
}

const callOf = (name: string, ask: Script['ask']) => ({
  id: 'call_1',
  type: 'function',
  function: { name, arguments: JSON.stringify(ask(name)) },
})

const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

async function readJson(incoming: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}
