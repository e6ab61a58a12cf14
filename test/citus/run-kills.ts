import { setTimeout as delay } from 'node:timers/promises'
import { openLedger, overHttp } from '../services/collector/support/ledger.ts'
import type { Ledger } from '../services/collector/support/ledger.ts'
import { until } from '../support/until.ts'
import { countStored } from './count-stored.ts'
import type { Stored } from './count-stored.ts'
import { leaveInDoubt } from './in-doubt.ts'
import { killNode, listPrepared, openStage, startNodes, withNode } from './stage.ts'
import type { NodeName, Stage } from './stage.ts'

interface KillsReport extends Stored {
  /** How often each fault happened. */
  readonly faults: Readonly<Record<string, number>>
  /** Transactions that were prepared and not ended when the nodes were up again. */
  readonly inDoubt: number
  /** The longest time in which nothing was acknowledged. */
  readonly longestPauseMs: number
}

type Fault = (stage: Stage) => Promise<number>

const kill =
  (name: NodeName): Fault =>
  async () => {
    await killNode(name)
    await startNodes()
    return 0
  }

const FAULTS: readonly (readonly [string, Fault])[] = [
  ['worker1 killed', kill('worker1')],
  ['worker2 killed within a commit', (stage) => leaveInDoubt(stage, ['worker2'])],
  ['coordinator killed', kill('coordinator')],
  ['worker2 killed', kill('worker2')],
  [
    'worker2 and coordinator killed within a commit',
    (stage) => leaveInDoubt(stage, ['coordinator', 'worker2']),
  ],
]

const SPANS_BETWEEN = 400

/** Kills nodes of Citus while clients send, and then counts what is stored. */
export async function runKills(
  kills: number,
  onProgress: (text: string) => void,
): Promise<KillsReport> {
  const stage = await openStage()
  try {
    return await killInTurn(stage, kills, onProgress)
  } finally {
    await stage.close()
  }
}

async function killInTurn(
  stage: Stage,
  kills: number,
  onProgress: (text: string) => void,
): Promise<KillsReport> {
  const ledgers = stage.collectors.map(({ url }) =>
    openLedger({ send: overHttp(url), clients: 4, spans: 20 }),
  )
  const pauses = watchPauses(ledgers)
  const faults: Record<string, number> = {}
  let inDoubt = 0
  for (let done = 0; done < kills; done++) {
    const [name, fault] = FAULTS[done % FAULTS.length] ?? ['', kill('worker1')]
    await untilMore(ledgers)
    inDoubt += await fault(stage)
    faults[name] = (faults[name] ?? 0) + 1
    onProgress(`${done + 1}/${kills} ${name}: ${sizeOf(ledgers)} spans, ${inDoubt} in doubt`)
  }
  await untilMore(ledgers)
  await Promise.all(ledgers.map((ledger) => ledger.stop()))
  const longestPauseMs = await pauses.stop()
  const found = await count(stage, ledgers)
  return { ...found, faults, inDoubt, longestPauseMs }
}

const sizeOf = (ledgers: readonly Ledger[]): number =>
  ledgers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0)

/** That each collector goes on is half of what is tested. */
async function untilMore(ledgers: readonly Ledger[]): Promise<void> {
  const goals = ledgers.map(({ acknowledged }) => acknowledged.length + SPANS_BETWEEN)
  await until(
    async () => ledgers.every(({ acknowledged }, i) => acknowledged.length >= (goals[i] ?? 0)),
    { timeoutMs: 180_000 },
  )
}

function watchPauses(ledgers: readonly Ledger[]): { stop(): Promise<number> } {
  let isWatching = true
  const watching = (async () => {
    let longest = 0
    let since = performance.now()
    for (let before = -1; isWatching; await delay(20)) {
      const now = sizeOf(ledgers)
      if (now !== before) since = performance.now()
      before = now
      longest = Math.max(longest, performance.now() - since)
    }
    return Math.round(longest)
  })()
  return {
    stop: () => {
      isWatching = false
      return watching
    },
  }
}

async function count({ urls, database }: Stage, ledgers: readonly Ledger[]): Promise<Stored> {
  for (const url of Object.values(urls)) {
    await withNode(url, (sql) =>
      until(async () => (await listPrepared(sql)).length === 0, { timeoutMs: 120_000 }),
    )
  }
  const all = ledgers.flatMap(({ acknowledged }) => acknowledged)
  return countStored(database.url, all)
}
