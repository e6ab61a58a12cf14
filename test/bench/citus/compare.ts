import { bearer, PROTOBUF } from '../../services/collector/support/harness.ts'
import { requestOf, spanOf, toProtobuf } from '../../services/collector/support/otlp.ts'
import { until } from '../../support/until.ts'
import { COMPARED_LOADS, createRound } from '../collector/compared-loads.ts'
import type { ComparedLoad } from '../collector/compared-loads.ts'
import { createConnections, sendLoad } from '../collector/load.ts'
import { median, quantile, toTable } from '../support/statistics.ts'
import type { Contender } from './stage.ts'

const ROUNDS = 5
const READS = 20

/** The contenders, which take their turns in every round. */
export interface Compared {
  readonly plain: Contender
  readonly citus: Contender
}

interface Sample {
  readonly wallMs: number
  /** CPU milliseconds of the collector and of all nodes. */
  readonly cpuMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

type Measure = (contender: Contender) => Promise<Sample>

const LOADS: Readonly<Record<string, ComparedLoad>> = {
  'light, 512 spans': { profile: 'light', spans: [512, 512], requests: 100, connections: 32 },
  'llm, 512 spans': { profile: 'llm', spans: [512, 512], requests: 24, connections: 32 },
  '1 to 20 spans': {
    ...COMPARED_LOADS['few-spans'],
    requests: 1200,
    connections: 200,
  } as ComparedLoad,
}

/** Sends the same kinds of requests to both, in turns. */
export async function compareIngest(compared: Compared): Promise<void> {
  const rows: string[][] = []
  for (const [name, load] of Object.entries(LOADS)) {
    rows.push(rowOf(name, await inTurns(compared, (contender) => send(contender, load))))
  }
  print('ingest, a round', rows)
}

async function send({ sql, collector, ...cpu }: Contender, load: ComparedLoad): Promise<Sample> {
  await sql`truncate spans`
  const { bodies } = createRound(load)
  const connections = createConnections(collector.url, load.connections)
  await connections.ready()
  const token = await bearer()
  const before = secondsOf(cpu)
  const all = bodies.flat()
  const sent = await sendLoad({ connections, token, contentType: PROTOBUF, bodies: all })
  const cpuMs = (secondsOf(cpu) - before) * 1000
  connections.close()
  await sql`truncate touched_traces`
  const { latenciesMs, seconds } = sent
  return { wallMs: seconds * 1000, cpuMs, ...latencies(latenciesMs) }
}

const secondsOf = (cpu: Pick<Contender, 'nodeSeconds' | 'postgresSeconds'>): number =>
  cpu.nodeSeconds() + cpu.postgresSeconds()

const latencies = (ms: readonly number[]) => ({
  p50Ms: quantile(ms, 0.5),
  p99Ms: quantile(ms, 0.99),
})

const TRACES = 500
const SPANS = 20

/** Reads traces and lists of both, in turns. */
export async function compareReads(compared: Compared): Promise<void> {
  const ids = Array.from({ length: TRACES }, (_, i) => (i + 1).toString(16).padStart(32, '7'))
  for (const contender of Object.values(compared)) await fill(contender, ids)
  process.stderr.write(`${TRACES} traces of ${SPANS} spans are stored\n`)
  const paths: Readonly<Record<string, (i: number) => string>> = {
    'trace, whole': (i) => `/api/traces/${ids[(i * 31) % TRACES]}`,
    'trace, skeleton': (i) => `/api/traces/${ids[(i * 37) % TRACES]}?view=skeleton`,
    'trace, summary': (i) => `/api/traces/${ids[(i * 41) % TRACES]}?view=summary`,
    'list, the latest 50': () => '/api/traces',
    'list, of an attribute': (i) => `/api/traces?attribute=user_id=user-${i % 100}`,
  }
  const rows: string[][] = []
  for (const [name, path] of Object.entries(paths)) {
    rows.push(rowOf(name, await inTurns(compared, (contender) => read(contender, path))))
    process.stderr.write(`${name}\n`)
  }
  print(`${READS} answers, one after the other`, rows)
}

async function fill({ sql, collector }: Contender, ids: readonly string[]): Promise<void> {
  await sql`truncate spans`
  for (let at = 0; at < ids.length; at += 25) {
    const spans = ids
      .slice(at, at + 25)
      .flatMap((traceId) => Array.from({ length: SPANS }, () => spanOf({ traceId })))
    const response = await fetch(`${collector.url}/v1/traces`, {
      method: 'POST',
      headers: { authorization: await bearer(), 'content-type': PROTOBUF },
      body: new Uint8Array(toProtobuf(requestOf(...spans))),
    })
    if (response.status !== 200) throw new Error(`the answer was ${response.status}`)
  }
  await until(async () => (await sql`select from touched_traces`).length === 0, {
    timeoutMs: 120_000,
  })
  await sql`analyze`
}

async function read(
  { collector, ...cpu }: Contender,
  path: (i: number) => string,
): Promise<Sample> {
  const headers = { authorization: await bearer() }
  const [before, began] = [secondsOf(cpu), performance.now()]
  const times: number[] = []
  for (let i = 0; i < READS; i++) {
    const started = performance.now()
    const response = await fetch(collector.url + path(i), { headers })
    if (response.status !== 200) throw new Error(await response.text())
    await response.arrayBuffer()
    times.push(performance.now() - started)
  }
  const wallMs = performance.now() - began
  return { wallMs, cpuMs: (secondsOf(cpu) - before) * 1000, ...latencies(times) }
}

/** The first round warms up and is not counted. */
async function inTurns(
  { plain, citus }: Compared,
  measure: Measure,
): Promise<readonly (readonly [Sample, Sample])[]> {
  const rounds: (readonly [Sample, Sample])[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const isEven = round % 2 === 0
    const first = await measure(isEven ? plain : citus)
    const second = await measure(isEven ? citus : plain)
    if (round > 0) rounds.push(isEven ? [first, second] : [second, first])
  }
  return rounds
}

const FIGURES = ['wallMs', 'cpuMs', 'p50Ms', 'p99Ms'] as const

/** The medians of both, and of the ratios within a round. */
function rowOf(name: string, rounds: readonly (readonly [Sample, Sample])[]): string[] {
  const cells = FIGURES.flatMap((figure) => {
    const [plain, citus] = [0, 1].map((i) => median(rounds.map((round) => round[i]?.[figure] ?? 0)))
    const ratio = median(rounds.map(([one, other]) => other[figure] / one[figure]))
    return [digits(plain), digits(citus), ratio.toFixed(2)]
  })
  return [name, ...cells]
}

const digits = (value = Number.NaN): string => value.toFixed(value < 100 ? 1 : 0)

function print(title: string, rows: readonly (readonly string[])[]): void {
  const heads = ['wall ms', 'CPU ms', 'p50 ms', 'p99 ms'].flatMap((head) => [
    `${head}, plain`,
    'Citus',
    'x',
  ])
  process.stdout.write(`\n${toTable([title, ...heads], rows)}\n`)
}
