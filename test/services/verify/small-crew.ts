import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'
import { startHttpServer } from '../../support/http-server.ts'

export const TOKEN = 'token-of-a-small-crew'

type Event = Record<string, unknown> & { type: string }

/** How a small crew differs from one that speaks the contract. */
export interface Faults {
  readonly health?: number
  /** The answer to `/describe`. */
  readonly description?: string
  readonly inputs?: string
  /** Takes whoever comes. */
  readonly isOpenToAll?: boolean
  /** The status for what is no kickoff. */
  readonly forBroken?: number
  /** Refuses a kickoff with files. */
  readonly refusesFiles?: boolean
  /** Answers a kickoff instead. */
  readonly kickoff?: (response: ServerResponse) => void
  readonly contentType?: string
  /** Another text for an event; empty for none. */
  readonly write?: (event: Event) => string
  /** Acts without an ack. */
  readonly isHasty?: boolean
  /** Begins anew, whatever the journal says. */
  readonly isForgetful?: boolean
  /** Takes any recorded result. */
  readonly isCredulous?: boolean
  /** @default a hash of version and name */
  readonly keyOf?: (version: number, name: string) => string
  /** Fails when it is asked to stop. */
  readonly failsToStop?: boolean
}

/** A crew with two steps and any faults. */
export async function startSmallCrew(faults: Faults = {}) {
  return startHttpServer((request, response) => {
    const { url = '' } = request
    if (request.method === 'POST') return void perform(request, response, faults)
    const description = JSON.stringify({ contract: 2, name: 'Small', capabilities: ['journal'] })
    const pages: Record<string, string> = {
      '/health': '{"status": "ok"}',
      '/describe': faults.description ?? description,
      '/inputs': faults.inputs ?? '{"inputs": ["topic"]}',
    }
    const isMissing = pages[url] === undefined || pages[url] === ''
    response.statusCode = url === '/health' ? (faults.health ?? 200) : isMissing ? 404 : 200
    response.end(pages[url])
  })
}

async function perform(
  request: IncomingMessage,
  response: ServerResponse,
  faults: Faults,
): Promise<void> {
  const isKnown = request.headers.authorization === `Bearer ${TOKEN}`
  const lines = createInterface({ input: request })[Symbol.asyncIterator]()
  if (!isKnown && !faults.isOpenToAll) return void response.writeHead(401).end()
  const { value } = await lines.next()
  let kickoff: Record<string, unknown>
  try {
    kickoff = JSON.parse(value)
  } catch {
    return void response.writeHead(faults.forBroken ?? 400).end()
  }
  if (faults.refusesFiles && 'files' in kickoff) return void response.writeHead(400).end()
  if (faults.kickoff) return faults.kickoff(response)
  response.writeHead(200, { 'content-type': faults.contentType ?? 'application/x-ndjson' })
  await run(kickoff, { lines, response, faults }).catch(() => response.destroy())
}

interface Attempt {
  readonly lines: AsyncIterator<string>
  readonly response: ServerResponse
  readonly faults: Faults
}

async function run(
  kickoff: Record<string, unknown>,
  { lines, response, faults }: Attempt,
): Promise<void> {
  const version = Number(kickoff['version'] ?? 0)
  const recorded = (kickoff['journal'] ?? []) as { step: string; result: unknown }[]
  let seq = 0
  let acked = 0
  const report = (event: Event): void => {
    seq += 1
    const whole = { at: new Date().toISOString(), seq, ...event }
    response.write(faults.write ? faults.write(whole) : `${JSON.stringify(whole)}\n`)
  }
  /** Returns false when the worker asks for an end. */
  const isAcked = async (): Promise<boolean> => {
    while (acked < seq) {
      const { done, value } = await lines.next()
      if (done) throw new Error('the worker is gone')
      const said = value.trim() === '' ? {} : JSON.parse(value)
      acked = Math.max(acked, said.ack ?? 0)
      if (said.stop) return false
    }
    return true
  }
  const stepOf = (name: string): string => {
    const hash = createHash('sha256').update(`${version} ${name}`).digest('hex').slice(0, 32)
    return faults.keyOf?.(version, name) ?? hash
  }
  const isDone = (step: string): boolean => {
    const past = faults.isForgetful ? undefined : recorded.find((each) => each.step === step)
    const isKnown = typeof past?.result === 'string'
    if (past && !isKnown && faults.isCredulous) throw new Error('what is this?')
    return isKnown
  }
  const mayAct = async (): Promise<boolean> =>
    faults.isHasty || !('version' in kickoff) || (await isAcked())
  report({ type: 'crew_started', crew: 'Small' })
  for (const name of ['first', 'second']) {
    const step = stepOf(name)
    if (isDone(step)) continue
    report({ type: 'step_started', step, kind: 'tool', name, path: [name] })
    if (!(await mayAct())) {
      const error = { code: 'stopped', message: 'No time.' }
      report(faults.failsToStop ? { type: 'failed', error } : { type: 'handed_over' })
      return void response.end()
    }
    report({ type: 'step_finished', step, result: 'done' })
  }
  const usage = { input_tokens: 0, output_tokens: 0 }
  report({ type: 'crew_completed', output: 'Done.', usage })
  response.end()
}
