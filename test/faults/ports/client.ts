import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Webhook } from 'standardwebhooks'

/**
 * A client as a program that can be killed: it writes down what it is about to call, and what it
 * got, so that one that is started in its place sends again what has no answer yet.
 */
const [name = '', api = '', token = '', hook = '', secret = '', ledger = ''] = process.argv.slice(2)

const KINDS = ['mcp', 'a2a', 'trigger'] as const
type Kind = (typeof KINDS)[number]
const LANES = 4
const RETRY_MS = 50

interface Call {
  readonly id: string
  readonly kind: Kind
}

/** The end of a line that a kill cut off is no line. */
const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : []
const entries = lines.flatMap((line): (Call & { run?: string })[] =>
  line.endsWith('}') && line.startsWith('{') ? [JSON.parse(line)] : [],
)
const answered = new Set(entries.filter(({ run }) => run !== undefined).map(({ id }) => id))
const left: Call[] = entries.filter(({ id, run }) => run === undefined && !answered.has(id))

// Behind what a kill cut off.
const note = (entry: Call & { run?: string }) =>
  appendFileSync(ledger, `${entry.run === undefined ? '\n' : ''}${JSON.stringify(entry)}\n`)

let isEnding = false
process.stdin.on('end', () => (isEnding = true)).resume()

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const inputs = (id: string) => ({ topic: 'tides', number: id })

/** Calls a tool, whose person decides; what is not done is called again with the same key. */
async function callTool(id: string): Promise<string | undefined> {
  const client = new Client(
    { name, version: '1' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: { elicitation: { form: {} } },
    },
  )
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { decision: 'edit', text: `${name} decided, ${randomUUID()}` },
  }))
  try {
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${api}/mcp`), { requestInit: { headers } }),
    )
    const call = { name: 'counted', arguments: inputs(id), _meta: { idempotency_key: id } }
    const { _meta: meta } = await client.callTool(call)
    return meta?.['status'] === 'completed' ? String(meta['kickoff_id']) : undefined
  } finally {
    await client.close().catch(() => {})
  }
}

async function post(url: string, body: string, more: Record<string, string> = headers) {
  const response = await fetch(url, { method: 'POST', body, headers: more })
  return { status: response.status, body: (await response.json()) as Record<string, never> }
}

/** Sends a message, and looks at its task until that is over. */
async function sendMessage(id: string): Promise<string | undefined> {
  const rpc = (method: string, params: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return post(`${api}/a2a`, body, { ...headers, 'a2a-version': '1.0' })
  }
  const message = { messageId: id, role: 'ROLE_USER', parts: [{ data: inputs(id) }] }
  const sent = await rpc('SendMessage', { message, configuration: { returnImmediately: true } })
  const { task } = (sent.body['result'] ?? {}) as { task?: { id: string } }
  while (task) {
    const { body } = await rpc('GetTask', { id: task.id })
    const { status } = (body['result'] ?? {}) as { status?: { state: string } }
    if (status?.state === 'TASK_STATE_COMPLETED') return task.id
    await delay(200)
  }
  return undefined
}

/** Delivers an event, in any order with others, twice. */
async function deliver(id: string): Promise<string | undefined> {
  const body = JSON.stringify(inputs(id))
  const at = new Date()
  const signed = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
  const [one] = await Promise.all([post(hook, body, signed), post(hook, body, signed)])
  const run: unknown = one.body['kickoff_id']
  return typeof run === 'string' ? run : undefined
}

const PERFORM = { mcp: callTool, a2a: sendMessage, trigger: deliver }

async function untilAnswered({ id, kind }: Call): Promise<string> {
  for (;;) {
    const run = await PERFORM[kind](id).catch(() => undefined)
    if (run !== undefined) return run
    await delay(RETRY_MS)
  }
}

async function work(lane: number): Promise<void> {
  for (let made = lane; !isEnding || left.length > 0; made += 1) {
    const again = left.pop()
    const call = again ?? { id: randomUUID(), kind: KINDS[made % KINDS.length] ?? 'mcp' }
    if (!again) note(call)
    note({ ...call, run: await untilAnswered(call) })
  }
}

process.stdout.write('started\n')
await Promise.all(Array.from({ length: LANES }, (_, lane) => work(lane)))
process.exit(0)
