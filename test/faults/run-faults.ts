import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../services/shared/postgres/database.ts'
import { createRandom } from '../bench/support/requests.ts'
import { openGrpc } from '../services/collector/support/grpc.ts'
import { audit, openLedger, overHttp } from '../services/collector/support/ledger.ts'
import type { Audit, Ledger } from '../services/collector/support/ledger.ts'
import { nanos, spanOf, textAttribute } from '../services/collector/support/otlp.ts'
import type { OtlpSpan } from '../services/collector/support/otlp.ts'
import { countWrongRollUps } from '../services/collector/support/roll-up-oracle.ts'
import { countUnfoundTexts } from '../services/collector/support/search-oracle.ts'
import {
  asAdmin,
  closeStage,
  cutConnections,
  endSessions,
  freezeConnections,
  killCollector,
  killPostgres,
  makeReadOnly,
  openStage,
  stopPostgres,
} from './stage.ts'
import type { Stage } from './stage.ts'

interface FaultOptions {
  /** Of the collector and of PostgreSQL, by turns. */
  readonly kills: number
  readonly seed: number
  /** How long PostgreSQL is stopped, once for each. */
  readonly stopsSeconds: readonly number[]
  /** The bundle of the collector. @default one that is built first */
  readonly main?: string
  /** Collectors; what one did not acknowledge is sent to any of them again. @default 1 */
  readonly replicas?: number
  /**
   * Between two faults; a random number up to this many spans is acknowledged over each protocol.
   * @default 300
   */
  readonly spansBetween?: number
  readonly onProgress?: (progress: { kills: number; acknowledged: number }) => void
}

export interface FaultReport extends Audit {
  readonly seed: number
  readonly acknowledged: number
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>
  /** Of the collectors, told to end at last. */
  readonly exitCodes: readonly (number | null)[]
  /** Traces and hours whose roll-ups are not what the spans add up to. */
  readonly wrongRollUps: number
  /** Texts of spans that no search finds. */
  readonly unfoundTexts: number
  /** Every span that was acknowledged is there once, and no other is. */
  readonly isRight: boolean
}

type Fault = (stage: Stage, random: () => number) => Promise<void>

/** Kills count; the others happen beside them. */
const KILLS: Readonly<Record<string, Fault>> = {
  'collector SIGKILL': killCollector,
  'postgres SIGKILL': killPostgres,
}
const OTHERS: Readonly<Record<string, Fault>> = {
  'sessions ended': endSessions,
  'connections reset': (stage, random) => cutConnections(stage, random() * 500),
  'network gone': (stage, random) => freezeConnections(stage, random() * 1500),
  'read only': (stage) => makeReadOnly(stage, 500),
}
const SHARE_OF_OTHERS = 0.2

const DAY_MS = 86_400_000
const DAYS = 5

/** A model call of one of the last days, most of which have no partition yet. */
function makeSpan(): OtlpSpan {
  const start = Date.now() - Math.floor(Math.random() * DAYS) * DAY_MS
  const tokens = { intValue: String(Math.floor(Math.random() * 1000)) }
  return spanOf({
    startTimeUnixNano: nanos(start),
    endTimeUnixNano: nanos(start + 5),
    attributes: [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute('gen_ai.request.model', 'gpt-4o'),
      textAttribute('gen_ai.prompt', `What is ${randomUUID()}?`),
      { key: 'gen_ai.usage.input_tokens', value: tokens },
    ],
  })
}

const ROLL_UP_MS = 60_000

/** Waits for the leaders of the roll-ups and of the search to catch up. */
async function untilCaughtUp(sql: Database): Promise<void> {
  const started = performance.now()
  const isBehind = async (): Promise<boolean> => {
    const rows = await sql`
      (select from touched_traces limit 1) union all (select from traces_to_extract limit 1)`
    return rows.length > 0
  }
  while (await isBehind()) {
    if (performance.now() - started > ROLL_UP_MS)
      throw new Error(`the roll-ups were not up to date within ${ROLL_UP_MS / 1000} s`)
    await delay(50)
  }
}

/** Kills and hinders collectors and database while clients send, and then counts what is stored. */
export async function runFaults(options: FaultOptions): Promise<FaultReport> {
  const stage = await openStage(options.main, options.replicas)
  const oneOf = <Each>(list: readonly Each[]): Each =>
    list[Math.floor(Math.random() * list.length)] as Each
  const ways = stage.collectors.map(({ url }) => overHttp(url))
  const calls = stage.collectors.map(({ grpcUrl }) => openGrpc(grpcUrl))
  const senders = [
    (body: Buffer) => oneOf(ways)(body),
    async (body: Buffer) => (await oneOf(calls).send(body)).code === 0,
  ]
  const ledgers = senders.map((send) => openLedger({ send, clients: 4, makeSpan }))
  try {
    const faults = await causeFaults(stage, ledgers, options)
    await Promise.all(ledgers.map((ledger) => ledger.stop()))
    const ids = ledgers.flatMap(({ acknowledged }) => acknowledged)
    const found = await asAdmin(stage, (sql) => audit(sql, ids))
    await asAdmin(stage, untilCaughtUp)
    const wrongRollUps = await asAdmin(stage, countWrongRollUps)
    const unfoundTexts = await asAdmin(stage, countUnfoundTexts)
    const { rows, spans, missing } = found
    const acknowledged = ids.length
    const isStored = missing === 0 && rows === acknowledged && spans === acknowledged
    const isRight = isStored && wrongRollUps === 0 && unfoundTexts === 0
    const { seed } = options
    const exitCodes = await closeStage(stage)
    return {
      ...found,
      seed,
      acknowledged,
      faults,
      exitCodes,
      wrongRollUps,
      unfoundTexts,
      isRight,
    }
  } catch (error) {
    for (const { child } of stage.collectors) child.kill('SIGKILL')
    process.kill(stage.server.pid, 'SIGKILL')
    throw error
  } finally {
    for (const grpc of calls) grpc.close()
  }
}

async function causeFaults(
  stage: Stage,
  ledgers: readonly Ledger[],
  { kills, seed, stopsSeconds, spansBetween = 300, onProgress }: FaultOptions,
): Promise<Record<string, number>> {
  const random = createRandom(seed)
  const counts: Record<string, number> = {}
  const cause = async ([name, fault]: readonly [string, Fault]): Promise<void> => {
    await untilMore(ledgers, Math.floor(random() * spansBetween))
    await fault(stage, random)
    counts[name] = (counts[name] ?? 0) + 1
  }
  for (let done = 1; done <= kills; done++) {
    await cause(nth(KILLS, done))
    if (random() < SHARE_OF_OTHERS) await cause(nth(OTHERS, Math.floor(random() * 12)))
    onProgress?.({ kills: done, acknowledged: acknowledgedIn(ledgers) })
  }
  for (const seconds of stopsSeconds) {
    await cause([`postgres stopped for ${seconds} s`, (on) => stopPostgres(on, seconds)])
  }
  await untilMore(ledgers, spansBetween)
  return counts
}

function nth(faults: Readonly<Record<string, Fault>>, turn: number): readonly [string, Fault] {
  const list = Object.entries(faults)
  const found = list[turn % list.length]
  if (!found) throw new Error('there are no faults to choose from')
  return found
}

const acknowledgedIn = (ledgers: readonly Ledger[]): number =>
  ledgers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)

const PROGRESS_MS = 120_000

/**
 * Waits for the clients to have more acknowledged over each protocol; that they do is half of what
 * is tested.
 */
async function untilMore(ledgers: readonly Ledger[], spans: number): Promise<void> {
  const goals = ledgers.map(({ acknowledged }) => ({
    acknowledged,
    length: acknowledged.length + spans,
  }))
  const started = performance.now()
  while (goals.some(({ acknowledged, length }) => acknowledged.length < length)) {
    if (performance.now() - started > PROGRESS_MS) {
      throw new Error(`nothing was acknowledged for ${PROGRESS_MS / 1000} s`)
    }
    await delay(10)
  }
}
