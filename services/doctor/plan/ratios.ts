/** Where a number is from: the load itself, this installation, the measurements, or a choice. */
export type Basis = 'load' | 'here' | 'bench' | 'assumed'

/** An amount for each unit of the load. */
export interface Ratio {
  readonly value: number
  readonly from: Basis
}

/**
 * An amount a second for each unit a second. What is busy does more at once: `busy` is the line
 * that holds from where it is the lower one.
 */
export interface Cost extends Ratio {
  readonly busy?: { readonly base: number; readonly value: number }
}

/** What a load takes. Times are seconds of one processor. */
export interface Ratios {
  /** Bytes of the trace database for a span, with its part of the roll-ups and of the search. */
  readonly spanBytes: Ratio
  readonly spanWalBytes: Cost
  readonly spanInCollector: Cost
  readonly spanInPostgres: Cost
  /** Spans of a run, where only runs are planned. */
  readonly runSpans: Ratio
  /** Bytes of the main database for a run, with its steps and events. */
  readonly runBytes: Ratio
  readonly runSteps: Ratio
  readonly runSeconds: Ratio
  readonly runInWeb: Ratio
  readonly runInWorker: Ratio
  readonly runInPostgres: Ratio
}

const bench = (value: number): Ratio => ({ value, from: 'bench' })
const assumed = (value: number): Ratio => ({ value, from: 'assumed' })

/** Where the measurements were taken. */
export const MACHINE =
  '2 virtual cores (x86-64), Node 24, PostgreSQL 18, durable, with 1 GB of shared_buffers'

/** The share of model calls among the spans that were measured. */
export const MODEL_CALLS = 0.1

/**
 * The measurements of `test/bench/README.md`, on `MACHINE`. The lines of spans go through the table
 * of "A day of traces", 1,000 to 4,000 million spans a day of which a tenth are model calls; the
 * share below a thousand million is that of its first column. The table was recorded with an index
 * of the search that took more of PostgreSQL: the lines err to the safe side.
 */
export const RECORDED: Ratios = {
  // 1,148, 1,000, 949 and 961 bytes.
  spanBytes: bench(1100),
  // 2,394, 2,949, 3,788 and 4,989 GB a day: after a checkpoint each page is written whole once.
  spanWalBytes: { ...bench(2400), busy: { base: 17.4e6, value: 800 } },
  // 0.15, 0.19, 0.22 and 0.24 cores.
  spanInCollector: { ...bench(13e-6), busy: { base: 0.12, value: 2.75e-6 } },
  // 0.92, 1.08, 1.35 and 1.52 cores.
  spanInPostgres: { ...bench(83e-6), busy: { base: 0.71, value: 18.6e-6 } },
  runSpans: assumed(10),
  // "The queue of runs": a run of two steps, with its events and indexes.
  // 4,107 bytes of a run of two steps without texts; what models read and write is kept with it.
  runBytes: assumed(9000),
  runSteps: bench(2),
  runSeconds: assumed(30),
  // "The queue of runs", "The automation API": 1.1 ms for a kickoff, ten looks at the status.
  runInWeb: bench(6.2e-3),
  // "The queue of runs": 1.4 ms with one worker.
  runInWorker: bench(1.6e-3),
  // 1.3 ms and 2.0 with one and ten workers, 0.5 for the kickoff, and ten looks at the status.
  runInPostgres: bench(4.1e-3),
}

/** What was seen of the ratios on an installation. */
export type SeenRatios = { readonly [Name in keyof Ratios]?: number }

/** Puts what was seen here in the place of what was recorded. */
export function ratiosOf(seen: SeenRatios): Ratios {
  const steps = seen.runSteps ?? RECORDED.runSteps.value
  const scale = steps / RECORDED.runSteps.value
  const scaled = ({ value, from }: Ratio): Ratio => ({ value: value * scale, from })
  const { runBytes, runInWorker, runInPostgres } = RECORDED
  const own = Object.fromEntries(
    Object.entries(seen).map(([name, value]) => [name, { value, from: 'here' as const }]),
  )
  return {
    ...RECORDED,
    runBytes: scaled(runBytes),
    runInWorker: scaled(runInWorker),
    runInPostgres: scaled(runInPostgres),
    ...own,
  }
}

/** What so many units a second take in a second. */
export const costOf = ({ value, busy }: Cost, perSecond: number): number =>
  Math.min(value * perSecond, busy ? busy.base + busy.value * perSecond : Infinity)
