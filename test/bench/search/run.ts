import type { DatabaseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { cpuOfFamily } from '../support/processes.ts'
import { median, toTable } from '../support/statistics.ts'
import { askCollector, timeRead, withTraceServer } from '../support/trace-server.ts'
import type { Read, Reads } from '../support/trace-server.ts'
import { fill, makeSearchable } from './fill.ts'

const ROUNDS = 7

/** What is looked for, and how often it is there. */
const QUESTIONS: Readonly<Record<string, string>> = {
  'in no text': 'text=hippopotamus',
  'in no text, of frequent letters': 'text=stationer',
  'in one of 100,000': 'text=axolotl',
  'in one of 1000': 'text=zebra-crossing',
  'in most': 'text=database',
  'in most, by duration': 'text=database&sort=duration',
  'the latest without a text, with excerpts': 'excerpts=200',
}

/** Measures what it takes to make model calls searchable, and to search them. */
export async function run(calls = '1000000'): Promise<void> {
  await withTraceServer(async ({ sql, address, pid: postgresPid, start }) => {
    // It migrates, and searches nothing yet.
    await (await start()).kill('SIGTERM')
    await fill(sql, Number(calls))
    await measureWriting(sql, { address, postgresPid })
    const collector = await start()
    try {
      await measureReading({ collector, postgresPid })
    } finally {
      await collector.kill('SIGTERM')
    }
  })
}

async function measureWriting(
  sql: Database,
  { address, postgresPid }: { address: DatabaseAddress; postgresPid: number },
): Promise<void> {
  const [node, postgres] = [process.cpuUsage(), cpuOfFamily(postgresPid)]
  const texts = await makeSearchable(address)
  const { user, system } = process.cpuUsage(node)
  const postgresMicros = (cpuOfFamily(postgresPid) - postgres) * 1e6
  const [size] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(inhrelid))::float8 as bytes
    from pg_inherits where inhparent = 'text_signatures'::regclass`
  const per = (all: number): string => (all / texts).toFixed(0)
  const row = [`${texts}`, per(user + system), per(postgresMicros), per(size?.bytes ?? Number.NaN)]
  process.stdout.write(`${toTable(['texts', 'Node µs', 'PostgreSQL µs', 'bytes'], [row])}\n\n`)
  await sql`vacuum analyze text_signatures`
}

async function measureReading(reads: Reads): Promise<void> {
  const rows: string[][] = []
  for (const [name, question] of Object.entries(QUESTIONS)) {
    const ask = () => askCollector(reads.collector, `/api/traces?${question}`)
    // The first one warms up and is not counted.
    const { traces } = JSON.parse(await ask()) as { traces: readonly unknown[] }
    const samples: Read[] = []
    for (let round = 0; round < ROUNDS; round++) samples.push(await timeRead(reads, ask))
    const of = (key: keyof Read): string => median(samples.map((one) => one[key])).toFixed(0)
    rows.push([name, String(traces.length), of('ms'), of('nodeMs'), of('postgresMs')])
  }
  process.stdout.write(`${toTable(['', 'traces', 'ms', 'Node ms', 'PostgreSQL ms'], rows)}\n`)
}
