import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import type { BareRun } from './worker.ts'

const model = new URL(`${process.argv[2]}/chat/completions`)
const agent = new Agent({ keepAlive: true })
/** Of a step, with its answer: what ours report of one has as many characters. */
const RECORD = 'x'.repeat(2000)

async function ask(run: string, task: string): Promise<void> {
  const call = request(model, { method: 'POST', agent })
  call.end(JSON.stringify({ messages: [{ content: `[run ${run} task ${task}]` }] }))
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  JSON.parse(Buffer.concat(parts).toString())
}

async function perform(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const lines = createInterface({ input: incoming })[Symbol.asyncIterator]()
  const first = await lines.next()
  const { number, tasks, isJournaled } = JSON.parse(String(first.value)) as BareRun
  outgoing.flushHeaders()
  for (const task of tasks) {
    outgoing.write(`${JSON.stringify({ task, record: RECORD })}\n`)
    if (isJournaled) await lines.next()
    await ask(number, task)
  }
  outgoing.end()
}

const server = createServer((incoming, outgoing) => void perform(incoming, outgoing))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
