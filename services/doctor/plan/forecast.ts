import { amountOn, growthOf, projectKept } from '../../shared/growth.ts'
import type { ChartValues } from '../preflight/values.ts'
import { bytesText, numberText } from './amount-texts.ts'
import { RECORDED } from './ratios.ts'
import type { EndingKey, SeenRuns, SeenTraces } from './seen.ts'
import { PEAK } from './wish.ts'

const [GIB, DAY_MS, DAY_SECONDS] = [2 ** 30, 86_400_000, 86_400]
/** Five years: what ends later is planned again before. */
const DAYS_AHEAD = 1826
/** What `max_wal_size` is by default, and as much again while a checkpoint is late. */
const WAL_BYTES = 2 * GIB

/** Something that ends, and what to set then. */
export interface End {
  readonly what: string
  /** `2027-01-31`; null where it does not end within five years. */
  readonly on: string | null
  readonly reason: string
  readonly remedy: string
}

/** What was seen of an installation. */
export interface Seen {
  readonly traces: SeenTraces | undefined
  readonly runs: SeenRuns | undefined
  readonly certificate?: EndingKey | undefined
}

/** The bytes that traces may take; undefined for no limit. */
function traceLimit({ postgres, collector }: ChartValues): number | undefined {
  const given = Number(collector.config.maxStorageBytes)
  if (given > 0) return given
  return postgres.enabled && !collector.database.host ? postgres.storage.size / 2 : undefined
}

/** Lists on which day what ends, at today's growth; the earliest first. */
export function findEnds(seen: Seen, values: ChartValues, now: Date): readonly End[] {
  const dateOf = (daysAhead: number): string | null =>
    daysAhead < 0 ? null : dateText(new Date(now.getTime() + daysAhead * DAY_MS))
  const tracesKept = seen.traces && keptTraces(seen.traces, values)
  const ends = [
    ...traceEnd(tracesKept, traceLimit(values), dateOf),
    ...diskEnd(seen, values, { tracesKept, dateOf }),
    ...queueEnd(seen.runs, values, dateOf),
    ...[...(seen.runs?.keys ?? []), ...(seen.certificate ? [seen.certificate] : [])].map(keyEnd),
  ]
  return ends.toSorted((a, b) => (a.on ?? '~').localeCompare(b.on ?? '~'))
}

type Kept = readonly number[] | undefined
type DateOf = (daysAhead: number) => string | null

const keptTraces = ({ bytes, keptDays }: SeenTraces, { collector }: ChartValues): Kept =>
  projectKept(
    { days: bytes, keptDays: keptDays ?? Number(collector.config.retentionWeeks) * 7 },
    DAYS_AHEAD,
  )

function traceEnd(kept: Kept, limit: number | undefined, dateOf: DateOf): End[] {
  if (!kept || limit === undefined) return []
  const most = Math.max(...kept)
  return [
    {
      what: 'the limit of bytes of the traces',
      on: dateOf(kept.findIndex((bytes) => bytes > limit)),
      reason: `${bytesText(kept[0] ?? 0)} today, up to ${bytesText(most)}, of ${bytesText(limit)}`,
      remedy:
        'Raise collector.config.maxStorageBytes, and postgres.storage.size with it, or lower ' +
        'collector.config.retentionWeeks: else the oldest days go before their time.',
    },
  ]
}

interface Projection {
  readonly tracesKept: Kept
  readonly dateOf: DateOf
}

function diskEnd(
  { traces, runs }: Seen,
  values: ChartValues,
  { tracesKept, dateOf }: Projection,
): End[] {
  const { postgres, collector } = values
  const isShared = !collector.database.host
  const runsKept =
    runs && projectKept({ days: runs.bytes, keptDays: values.runs.retentionDays }, DAYS_AHEAD)
  if (!postgres.enabled || !runs || !runsKept || (isShared && !tracesKept)) return []
  const days = (bytes: readonly number[]): number => bytes.reduce((sum, each) => sum + each, 0)
  const fixed = Math.max(0, runs.storedBytes - days(runs.bytes)) + WAL_BYTES
  const other = isShared && traces ? Math.max(0, traces.storedBytes - days(traces.bytes)) : 0
  const limit = traceLimit(values) ?? Infinity
  const used = runsKept.map(
    (bytes, day) =>
      bytes + fixed + other + (isShared ? Math.min(limit, tracesKept?.[day] ?? 0) : 0),
  )
  const { size } = postgres.storage
  return [
    {
      what: 'the disk of PostgreSQL',
      on: dateOf(used.findIndex((bytes) => bytes > size)),
      reason:
        `${bytesText(used[0] ?? 0)} with WAL today, up to ${bytesText(Math.max(...used))}, of ` +
        bytesText(size),
      remedy: 'Raise postgres.storage.size and the claim, or lower runs.retentionDays.',
    },
  ]
}

function queueEnd(runs: SeenRuns | undefined, { worker }: ChartValues, dateOf: DateOf): End[] {
  const growth = runs && growthOf(runs.counts)
  if (!growth) return []
  const seconds = runs.ratios.runSeconds ?? RECORDED.runSeconds.value
  const most = worker.replicaCount * worker.concurrency
  const inHand = (day: number): number => (amountOn(growth, day) / DAY_SECONDS) * PEAK * seconds
  const full = Array.from({ length: DAYS_AHEAD + 1 }, (_, day) => inHand(day) > most)
  return [
    {
      what: 'the workers of the queue',
      on: dateOf(full.indexOf(true)),
      reason:
        `${numberText(growth.today)} runs a day of ${numberText(seconds)} s are ` +
        `${numberText(inHand(0))} at a time at the peak, of ${most} in hand`,
      remedy: 'Raise worker.replicaCount or worker.concurrency.',
    },
  ]
}

const keyEnd = ({ name, ends }: EndingKey): End => ({
  what: name,
  on: dateText(ends),
  reason: `it ends at ${ends.toISOString()}`,
  remedy: 'Renew it before.',
})

const dateText = (date: Date): string => date.toISOString().slice(0, 10)
