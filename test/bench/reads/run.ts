import { readFileSync } from 'node:fs'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { median, toTable } from '../support/statistics.ts'
import { askCollector, timeRead, withTraceServer } from '../support/trace-server.ts'
import type { Read, Reads } from '../support/trace-server.ts'
import { fill, SPANS, TRACE_ID } from './fill.ts'

const ROUNDS = 9

interface Stage extends Reads {
  readonly sql: Database
}

interface Sample extends Read {
  readonly answer: number
}

/** The columns of all spans, by the server into nothing: the least that a skeleton takes. */
const FLOOR = `
  copy (
    select span_id, parent_span_id, start_time, start_ns, name, kind, operation_kind, duration_ns,
      status, error_type, llm_call, response_model, agent, task, tool, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd
    from live_spans where trace_id = '${TRACE_ID}'
  ) to '/dev/null'`

/** Measures reads of one trace with 50,000 spans and 1 GB, in turns with the least they need. */
export const run = (): Promise<void> =>
  withTraceServer(async ({ sql, pid: postgresPid, start }) => {
    const collector = await start()
    try {
      await fill(sql)
      await measure({ sql, postgresPid, collector })
    } finally {
      await collector.kill('SIGTERM')
    }
  })

async function measure(stage: Stage): Promise<void> {
  const contenders: Readonly<Record<string, () => Promise<number>>> = {
    'columns into nothing (the least)': async () => (await stage.sql.unsafe(FLOOR)).count,
    skeleton: () => get(stage, `/api/traces/${TRACE_ID}?view=skeleton`),
    'one span of 40 KB': () => get(stage, `/api/traces/${TRACE_ID}/spans/${spanOf(2n)}`),
    'a page of a search': () => get(stage, `/api/traces/${TRACE_ID}/search?q=nowhere`),
  }
  const samples = new Map<string, Sample[]>()
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const sample = await timeRead(stage, contender)
      if (round > 0) samples.set(name, [...(samples.get(name) ?? []), sample])
    }
  }
  print(samples)
  process.stdout.write(`\n${SPANS} spans; the collector held ${peakMiB(stage)} MiB at the most.\n`)
}

const spanOf = (n: bigint): string => (n * 7919123456789n).toString(16).padStart(16, '0')

const get = async ({ collector }: Stage, path: string): Promise<number> =>
  Buffer.byteLength(await askCollector(collector, path))

function print(samples: ReadonlyMap<string, readonly Sample[]>): void {
  const [least = []] = samples.values()
  const rows = [...samples].map(([name, taken]) => {
    const of = (key: keyof Sample): string => median(taken.map((one) => one[key])).toFixed(0)
    const ratio = median(taken.map(({ ms }, round) => ms / (least[round]?.ms ?? Number.NaN)))
    return [name, of('ms'), ratio.toFixed(2), of('nodeMs'), of('postgresMs'), of('answer')]
  })
  const head = ['', 'ms', 'x the least', 'Node ms', 'PostgreSQL ms', 'bytes']
  process.stdout.write(`${toTable(head, rows)}\n`)
}

/** NaN where there is no `/proc`. */
function peakMiB({ collector }: Stage): number {
  const status = readFileSync(`/proc/${collector.child.pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
