import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A model that counts what it is asked, and gives the same answer to the same question. */
export interface CountingModel {
  readonly baseUrl: string
  /** How often each step was asked for, by `run/task`. */
  readonly calls: ReadonlyMap<string, number>
  /** When each step was last asked for, and when it was answered, by `performance.now()`. */
  readonly times: ReadonlyMap<string, CallTimes>
  /** How many questions were answered. */
  readonly answered: () => number
  stop(): Promise<void>
}

interface CallTimes {
  readonly askedAt: number
  readonly answeredAt: number
}

/** More than a step's row holds. */
const LONG_ANSWER_CHARACTERS = 70_000

/** The inputs of a run and the key of its task, which each prompt of the crew below names. */
const QUESTION = /\[run (\S+) task (\S+)\]/

/** Starts the model; each answer takes as long as the function says. */
export async function startCountingModel(latencyMs: () => number): Promise<CountingModel> {
  const calls = new Map<string, number>()
  const times = new Map<string, CallTimes>()
  let answered = 0
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy())
  })
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
      messages: { content: string }[]
    }
    const text = messages.map(({ content }) => content).join('\n')
    const [found = '', run = '', task = ''] = QUESTION.exec(text) ?? []
    const key = `${run}/${task}`
    const askedAt = performance.now()
    calls.set(key, (calls.get(key) ?? 0) + 1)
    await delay(latencyMs())
    // Other runs with the same topic get the same answers.
    const digest = createHash('sha256').update(text.replaceAll(found, task)).digest('hex')
    const content = task === 'long' ? digest.padEnd(LONG_ANSWER_CHARACTERS, '.') : digest
    response.setHeader('content-type', 'application/json')
    const choices = [{ message: { role: 'assistant', content }, finish_reason: 'stop' }]
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    response.end(JSON.stringify({ id: 'x', model: 'counting', choices, usage }))
    times.set(key, { askedAt, answeredAt: performance.now() })
    answered += 1
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    calls,
    times,
    answered: () => answered,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
