import { setTimeout as delay } from 'node:timers/promises'
import { signCollectorToken } from '../../services/shared/collector-token.ts'
import { requestOf, spanOf, toProtobuf } from '../services/collector/support/otlp.ts'
import { COLLECTOR_SECRET } from './programs.ts'
import type { Fleet } from './programs.ts'

const TOPICS = 3
const RUNS_AT_A_TIME = 8
const RUN_MS = 180_000

/** What was sent and acknowledged, and what was not. */
export interface Ledger {
  /** The kickoff ids, by their topics. */
  readonly runs: Map<string, string>
  /** The ids of the traces that were sent beside runs. */
  readonly traces: string[]
  /** Answers that no caller should get. */
  readonly refusals: string[]
  readonly outputs: Map<string, unknown>
}

/** The automation that is called. */
export interface Called {
  readonly automationId: string
  readonly token: string
  /** The names of its inputs. */
  readonly inputs: readonly string[]
}

const apiOf = ({ web }: Fleet, { automationId }: Called): string =>
  `${web.url}/platform/api/v1/crew/${automationId}`

/**
 * Calls and sends to the given releases in turn until `rounds` runs have been started: each round
 * is a kickoff by one of them, whose end is asked of the other one, and a trace.
 */
export async function load(
  fleets: () => readonly Fleet[],
  called: Called,
  { ledger, rounds }: { readonly ledger: Ledger; readonly rounds: number },
): Promise<void> {
  const live = new Set<Promise<void>>()
  for (let round = 0; round < rounds; round++) {
    const pick = (shift: number): Fleet => {
      const there = fleets()
      const chosen = there[(round + shift) % there.length]
      if (!chosen) throw new Error('no release runs')
      return chosen
    }
    const going = sendRound(pick(0), called, { ledger, topic: `topic ${round % TOPICS}` })
      .then((id) => {
        return id === undefined ? undefined : follow(() => pick(1), called, { ledger, id })
      })
      .catch((thrown: unknown) => void ledger.refusals.push(String(thrown)))
      .finally(() => live.delete(going))
    live.add(going)
    if (live.size >= RUNS_AT_A_TIME) await Promise.race(live)
  }
  await Promise.all(live)
}

async function sendRound(
  fleet: Fleet,
  called: Called,
  { ledger, topic }: { readonly ledger: Ledger; readonly topic: string },
): Promise<string | undefined> {
  await sendTrace(fleet, ledger)
  const answer = await fetch(`${apiOf(fleet, called)}/kickoff`, {
    method: 'POST',
    headers: { authorization: `Bearer ${called.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      inputs: Object.fromEntries(called.inputs.map((name) => [name, topic])),
    }),
  })
  const body = (await answer.json()) as { kickoff_id?: string }
  if (answer.status !== 202 || body.kickoff_id === undefined) {
    ledger.refusals.push(`${fleet.release.name}: kickoff ${answer.status} ${JSON.stringify(body)}`)
    return undefined
  }
  ledger.runs.set(body.kickoff_id, topic)
  return body.kickoff_id
}

async function sendTrace({ collector, release }: Fleet, { traces, refusals }: Ledger) {
  const span = spanOf()
  const token = await signCollectorToken(COLLECTOR_SECRET, 'upgrade', { scopes: ['traces:write'] })
  const { status } = await fetch(`${collector.url}/v1/traces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' },
    body: new Uint8Array(toProtobuf(requestOf(span))),
  })
  if (status === 200) traces.push(span.traceId ?? '')
  else refusals.push(`${release.name}: span ${status}`)
}

/** Asks for a run until it has ended, whichever release runs at the moment. */
async function follow(
  fleet: () => Fleet,
  called: Called,
  { ledger, id }: { readonly ledger: Ledger; readonly id: string },
): Promise<void> {
  const giveUpAt = Date.now() + RUN_MS
  const headers = { authorization: `Bearer ${called.token}` }
  while (Date.now() < giveUpAt) {
    const asked = fleet()
    const answer = await fetch(`${apiOf(asked, called)}/status/${id}`, { headers })
    const body = (await answer.json()) as { status?: string; output?: unknown }
    if (!answer.ok) throw new Error(`${asked.release.name}: status ${answer.status}`)
    if (body.status === 'completed') return void ledger.outputs.set(id, body.output)
    if (body.status !== 'queued' && body.status !== 'running')
      throw new Error(`${asked.release.name}: run ${id} ${JSON.stringify(body)}`)
    await delay(200)
  }
  throw new Error(`run ${id} did not end within ${RUN_MS / 1000} s`)
}
