// A crew without a dependency: CREW_TOKEN=secret npx tsx crew.ts 8000
import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'

const ABOUT = { contract: 2, name: 'Shouter', capabilities: ['journal', 'replay'] }
const PAGES: Record<string, object> = {
  '/health': { status: 'ok' },
  '/describe': ABOUT,
  '/inputs': { inputs: ['topic'] },
}

/** What this crew does: replace it by what yours does. */
async function perform(run: Run): Promise<string> {
  const { topic } = run.inputs
  const loud = await run.step('shout', { topic }, async () => String(topic).toUpperCase())
  return run.step('greet', { loud }, async () => `Hello, ${loud}!`)
}

type Run = ReturnType<typeof openRun>
type Kickoff = {
  version: number
  inputs: Record<string, unknown>
  journal: { step: string; result: unknown }[]
  replay?: { answers: Answer[] }
}
/** What was answered in the record of a run. */
type Answer = {
  kind: string
  path: string[]
  request_sha256: string
  result?: unknown
  error?: { message: string }
}
class HandedOver extends Error {}

function openRun(kickoff: Kickoff, lines: AsyncIterator<string>, response: ServerResponse) {
  const journal = new Map(kickoff.journal.map(({ step, result }) => [step, result]))
  let seq = 0
  let acked = 0
  function report(type: string, fields: object = {}): void {
    seq += 1
    response.write(`${JSON.stringify({ type, at: new Date().toISOString(), seq, ...fields })}\n`)
  }
  /** Calls a tool: `act` with these arguments. What was done before is not done again. */
  async function step(name: string, given: object, act: () => Promise<string>): Promise<string> {
    const asked = { kind: 'tool', name, path: [name], request: { tool: name, arguments: given } }
    if (kickoff.replay) return recall(asked, kickoff.replay.answers)
    const base = JSON.stringify([kickoff.version, Object.entries(kickoff.inputs).sort(), name])
    const key = createHash('sha256').update(base).digest('hex').slice(0, 32)
    const recorded = journal.get(key)
    if (typeof recorded === 'string') return recorded // a former attempt did it and paid for it
    report('step_started', { step: key, ...asked })
    // Nothing is done before the worker has noted that it begins.
    if (await waitForAck()) throw new HandedOver()
    const result = await act()
    report('step_finished', { step: key, result })
    return result
  }
  const taken = new Set<number>()
  /** Answers from the record: by the same path, else what was not taken yet, else the last. */
  function recall(asked: { kind: string; path: string[]; request: object }, answers: Answer[]) {
    const digest = createHash('sha256').update(canonical(asked.request)).digest('hex')
    const found = [...answers.entries()].filter(
      ([, { kind, request_sha256 }]) => kind === asked.kind && request_sha256 === digest,
    )
    const fresh = found.filter(([place]) => !taken.has(place))
    const [place, answer] =
      fresh.find(([, { path }]) => path.join('/') === asked.path.join('/')) ??
      fresh[0] ??
      found.at(-1) ?? [-1, undefined]
    if (!answer) {
      report('replay_diverged', asked)
      throw new Error('The record has no answer to this request.')
    }
    taken.add(place)
    report('replay_answered', { answer: place })
    if (answer.error) throw new Error(answer.error.message)
    return String(answer.result)
  }
  /** Returns true when the worker asks for an end. */
  async function waitForAck(): Promise<boolean> {
    let stops = false
    while (acked < seq) {
      const { done, value } = await lines.next()
      if (done) throw new Error('The worker is gone.')
      const said = value.trim() === '' ? {} : JSON.parse(value)
      acked = Math.max(acked, said.ack ?? 0)
      stops ||= said.stop === true
    }
    return stops
  }
  return { inputs: kickoff.inputs, report, step, waitForAck }
}

/** RFC 8785 for what this crew asks: names of arguments are no numbers, which would come first. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    each === null || typeof each !== 'object' || Array.isArray(each)
      ? each
      : Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))),
  )

async function kickoff(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const given = digest(request.headers.authorization ?? '')
  if (!timingSafeEqual(given, digest(`Bearer ${process.env.CREW_TOKEN}`))) {
    return answer(response, 401, { message: 'This is not the token of this crew.' })
  }
  const lines = createInterface({ input: request })[Symbol.asyncIterator]()
  let run: Run
  try {
    run = openRun(JSON.parse((await lines.next()).value), lines, response)
  } catch {
    return answer(response, 400, { message: 'The first line is no kickoff.' })
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const beat = () => JSON.stringify({ type: 'heartbeat', at: new Date().toISOString() })
  const timer = setInterval(() => response.write(`${beat()}\n`), 5000)
  try {
    run.report('crew_started', { crew: ABOUT.name })
    const output = await perform(run)
    run.report('crew_completed', { output, usage: { input_tokens: 0, output_tokens: 0 } })
  } catch (thrown) {
    const error = { code: 'crew_failed', message: String(thrown) }
    if (thrown instanceof HandedOver) run.report('handed_over')
    else run.report('failed', { error })
  } finally {
    // Who hangs up with acks unread cuts off what is on its way.
    await run.waitForAck().catch(() => {})
    clearInterval(timer)
    response.end()
  }
}

function answer(response: ServerResponse, status: number, value: object | undefined): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  response.writeHead(status, { 'content-type': type }).end(JSON.stringify(value ?? {}))
}

const server = createServer((request, response) => {
  const page = PAGES[request.url ?? '']
  if (request.method === 'POST') kickoff(request, response).catch(() => response.destroy())
  else answer(response, page ? 200 : 404, page)
})
server.requestTimeout = 0 // the body of a kickoff lasts as long as its run
server.listen(Number(process.argv[2]))
