import { median, quantile, toTable } from '../support/statistics.ts'

/** One run of one contender. */
export interface Sample {
  readonly spans: number
  readonly seconds: number
  readonly latenciesMs: readonly number[]
  /** How many answers were 503. */
  readonly refusals: number
  /** CPU seconds of the receiver; NaN when there is none. */
  readonly nodeSeconds: number
  readonly postgresSeconds: number
  readonly walBytes: number
  /** Of the table with its indexes. */
  readonly tableBytes: number
}

interface Results {
  readonly profile: string
  /** By contender, one for each round. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>
}

const HEAD = [
  'contender',
  'spans/s',
  'min-max',
  'x copy',
  'p50 ms',
  'p99 ms',
  'worst p99',
  '503s',
  'node s/100k',
  'pg s/100k',
  'wal B/span',
  'table B/span',
]
const LIMIT = 'copy, as many connections'

export function printResults({ profile, samples }: Results): void {
  const limits = samples.get(LIMIT) ?? []
  const rows = [...samples].map(([name, list]) => toRow(name, list, limits))
  const rounds = limits.length
  process.stdout.write(`\n${profile}: medians of ${rounds} rounds\n${toTable(HEAD, rows)}\n`)
}

const speed = ({ spans, seconds }: Sample): number => spans / seconds

function toRow(name: string, list: readonly Sample[], limits: readonly Sample[]): string[] {
  const speeds = list.map(speed)
  const latency = (share: number) => list.map(({ latenciesMs }) => quantile(latenciesMs, share))
  // Each round is compared with the same round's limit: what slows the machine slows both.
  const ratios = list.map((sample, i) => speed(sample) / speed(limits[i] ?? sample))
  const per = (
    spans: number,
    name: 'nodeSeconds' | 'postgresSeconds' | 'walBytes' | 'tableBytes',
  ) => median(list.map((sample) => (sample[name] / sample.spans) * spans))
  const isReceiver = list.some(({ latenciesMs }) => latenciesMs.length > 0)
  const per100k = [per(100_000, 'nodeSeconds'), per(100_000, 'postgresSeconds')]
  const perSpan = [per(1, 'walBytes'), per(1, 'tableBytes')]
  return [
    name,
    thousands(median(speeds)),
    `${thousands(Math.min(...speeds))}-${thousands(Math.max(...speeds))}`,
    median(ratios).toFixed(2),
    number(median(latency(0.5)), 0),
    number(median(latency(0.99)), 0),
    number(Math.max(...latency(0.99)), 0),
    isReceiver ? number(median(list.map(({ refusals }) => refusals)), 0) : '-',
    ...per100k.map((value) => number(value, 2)),
    ...perSpan.map((value) => number(value, 0)),
  ]
}

const thousands = (value: number): string => `${(value / 1000).toFixed(1)}k`
const number = (value: number, digits: number): string =>
  Number.isFinite(value) ? value.toFixed(digits) : '-'
