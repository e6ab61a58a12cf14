import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as v from 'valibot'

const BODY_CHARACTERS_MAX = 16_777_216
const ANSWER = 'This is the answer of a model that stands in for a real one.'
const TOKENS = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** A model that answers each call with the same words, or holds calls back. */
export interface StandInModel {
  /** With the path of the version, as OpenAI's API has it. */
  readonly baseUrl: string
  /** The calls that have arrived. */
  readonly calls: () => number
  /** The calls that wait for their answer, of callers that are there still. */
  readonly open: () => number
  /** Holds the answers back from now on, or gives those that were held. */
  hold(isHeld: boolean): void
  close(): Promise<void>
}

const request = v.object({ model: v.string(), stream: v.optional(v.boolean()) })

/** Starts the model on a port of its own. */
export async function startStandInModel(host: string): Promise<StandInModel> {
  const held = new Map<ServerResponse, () => void>()
  let isHolding = false
  let calls = 0
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (piece: string) => {
      body += piece
      if (body.length > BODY_CHARACTERS_MAX) incoming.destroy()
    })
    incoming.on('end', () => {
      calls += 1
      const give = (): void => answer(response, body)
      if (!isHolding) return give()
      held.set(response, give)
      response.on('close', () => held.delete(response))
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    calls: () => calls,
    open: () => held.size,
    hold(next) {
      isHolding = next
      if (isHolding) return
      for (const give of held.values()) give()
      held.clear()
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function answer(response: ServerResponse, body: string): void {
  const asked = v.safeParse(v.pipe(v.string(), v.parseJson(), request), body)
  if (!asked.success) {
    const error = { message: 'This is no request for a chat completion.' }
    response.writeHead(400, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ error }))
  }
  const { model, stream } = asked.output
  const made = { id: 'stand-in', model, created: Math.floor(Date.now() / 1000) }
  if (stream === true) return streamAnswer(response, made)
  const message = { role: 'assistant', content: ANSWER }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ ...made, object: 'chat.completion', choices, usage: TOKENS }))
}

function streamAnswer(response: ServerResponse, made: object): void {
  const chunk = { ...made, object: 'chat.completion.chunk' }
  const delta = { role: 'assistant', content: ANSWER }
  const pieces = [
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk, choices: [], usage: TOKENS },
  ]
  response.setHeader('content-type', 'text/event-stream')
  for (const piece of pieces) response.write(`data: ${JSON.stringify(piece)}\n\n`)
  response.end('data: [DONE]\n\n')
}
