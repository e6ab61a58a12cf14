import { setTimeout as delay } from 'node:timers/promises'
import { createDropGuard } from '../../../services/collector/store/spans/drop-guard.ts'
import { dropExpired } from '../../../services/collector/store/spans/retention.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { clockAt, postTo, silent } from '../../services/collector/support/harness.ts'
import { audit, openLedger } from '../../services/collector/support/ledger.ts'
import type { Ledger } from '../../services/collector/support/ledger.ts'
import { requestOf, spanOf, toProtobuf } from '../../services/collector/support/otlp.ts'
import { nanos } from '../../services/collector/support/otlp.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { openCitus, withCollector } from './stage.ts'
import type { Contender } from './stage.ts'

const QUIET_MS = 10_000
const DAY_MS = 86_400_000

/** What senders see of operations, on one coordinator and one worker, and on two of them. */
export const run = (): Promise<void> => withCollector(measureOperation)

async function measureOperation(main: string): Promise<void> {
  const contender = await openCitus(main, 1)
  try {
    await addDays(contender)
    const load = openLoad(contender)
    const rows = [
      await load.during('nothing else', () => delay(QUIET_MS)),
      await load.during('a worker is added, shards move', () => addWorker(contender)),
      await load.during('nothing else, two workers', () => delay(QUIET_MS)),
      await load.during('a day is dropped', () => dropDays(contender, 2)),
      await load.during('a day is not dropped: a reader is in it', () =>
        withReader(contender, () => dropDays(contender, 3)),
      ),
    ]
    await load.stop()
    const head = ['while', 'took s', 'spans/s', 'p50 ms', 'p99 ms', 'longest ms', 'not 200']
    process.stdout.write(`\n${toTable(head, rows)}\n`)
    process.stdout.write(`\n${JSON.stringify(await load.audited())}\n`)
  } finally {
    await contender.close()
  }
}

/** Eight clients with requests of twenty spans. */
function openLoad({ collector, sql }: Contender) {
  let latencies: number[] = []
  let others = 0
  const ledger: Ledger = openLedger({
    clients: 8,
    async send(body) {
      const started = performance.now()
      const status = (await postTo(collector.url, body).catch(() => undefined))?.status
      latencies.push(performance.now() - started)
      if (status !== 200) others++
      return status === 200
    },
  })
  return {
    async during(name: string, work: () => Promise<unknown>): Promise<string[]> {
      latencies = []
      others = 0
      const [acknowledged, started] = [ledger.acknowledged.length, performance.now()]
      await work()
      const seconds = (performance.now() - started) / 1000
      const rate = (ledger.acknowledged.length - acknowledged) / seconds
      const figures = [0.5, 0.99, 1].map((share) => quantile(latencies, share).toFixed(0))
      process.stderr.write(`${name}\n`)
      return [name, seconds.toFixed(1), rate.toFixed(0), ...figures, String(others)]
    },
    stop: () => ledger.stop(),
    async audited() {
      return {
        acknowledged: ledger.acknowledged.length,
        ...(await audit(sql, ledger.acknowledged)),
      }
    },
  }
}

async function addWorker({ sql, spareUrls }: Contender): Promise<void> {
  const { host, port } = parseAddress(spareUrls[0] ?? '')
  await sql`set statement_timeout = '5min'`
  await sql`select citus_add_node(${host}, ${port}::int)`
  await sql`select rebalance_table_shards()`
}

/** Spans of three days that expire first. */
async function addDays({ collector }: Contender): Promise<void> {
  for (const days of [4, 5, 6]) {
    const startTimeUnixNano = nanos(Date.now() - days * DAY_MS)
    const spans = Array.from({ length: 2000 }, () =>
      spanOf({ startTimeUnixNano, endTimeUnixNano: startTimeUnixNano }),
    )
    await postTo(collector.url, toProtobuf(requestOf(...spans)))
  }
}

/** Sets the time so far ahead that a day expires. */
async function dropDays({ url }: Contender, days: number): Promise<void> {
  const clock = clockAt(() => Date.now() + days * DAY_MS)
  const guard = createDropGuard({ clock, log: silent })
  await dropExpired({ address: parseAddress(url), log: silent, clock, guard, weeks: 1 })
}

async function withReader({ url }: Contender, work: () => Promise<void>): Promise<void> {
  const reader = connectDatabase(parseAddress(url), { name: 'bench-reader', max: 1 })
  await reader.begin(async (tx) => {
    await tx`select count(*) from spans`
    await work()
  })
  await reader.end()
}
