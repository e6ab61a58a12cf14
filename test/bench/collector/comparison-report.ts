import { median, toTable } from '../support/statistics.ts'

/** One round of one contender. */
export interface Compared {
  readonly spansPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU microseconds for each request. */
  readonly nodeMicros: number
  /** CPU microseconds for each span. */
  readonly postgresMicros: number
  /** The same until all of them are rolled up. */
  readonly rolledUpMicros: number
}

const FIGURES = {
  'spans/s': ({ spansPerSecond }: Compared) => spansPerSecond,
  'p50 ms': ({ p50Ms }: Compared) => p50Ms,
  'p99 ms': ({ p99Ms }: Compared) => p99Ms,
  'node µs/request': ({ nodeMicros }: Compared) => nodeMicros,
  'postgres µs/span': ({ postgresMicros }: Compared) => postgresMicros,
  'until rolled up': ({ rolledUpMicros }: Compared) => rolledUpMicros,
}

/** Prints the medians of the contenders, and the ratios that the benchmark is about. */
export function printComparison(
  title: string,
  rounds: readonly ReadonlyMap<string, Compared>[],
): void {
  const rows = Object.entries(FIGURES).map(([figure, valueOf]) => {
    const values = (name: string): number[] =>
      rounds.flatMap((round) => [round.get(name)].flatMap((one) => (one ? [valueOf(one)] : [])))
    const [others, own] = [values('other'), values('this')]
    const [copies, bare, alone] = [values('copy'), values('http'), values('alone')]
    // Each round is compared with the same round: what slows the machine slows all of it.
    const ratio = (to: readonly number[], from = own): number =>
      median(from.map((value, i) => value / (to[i] ?? Number.NaN)))
    const medians = [others, own, alone, bare, copies].map((list) => number(median(list)))
    const toCopy = [own, alone, bare].map((from) => ratio(copies, from))
    return [figure, ...medians, ...[ratio(others), ...toCopy].map(number)]
  })
  const names = ['other', 'this', 'alone', 'http', 'copy']
  const head = [title, ...names, 'this/other', 'this/copy', 'alone/copy', 'http/copy']
  process.stdout.write(`\n${toTable(head, rows)}\n`)
}

const number = (value: number): string =>
  Number.isFinite(value) ? value.toFixed(value < 1000 ? 2 : 0) : '-'
