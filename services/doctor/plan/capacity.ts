import { AppError } from '../../shared/errors.ts'
import { bytesText, numberText } from './amount-texts.ts'
import { costOf, MODEL_CALLS } from './ratios.ts'
import type { Basis, Ratio, Ratios } from './ratios.ts'
import type { Rate } from './wish.ts'

/** What an installation has to carry. */
export interface Load {
  readonly spans: Rate
  readonly runs: Rate
  readonly days: number
}

/** What a load takes, before anything is rounded up or added. */
interface Demand {
  readonly collectorCores: number
  readonly traceDatabaseCores: number
  readonly traceBytesPerDay: number
  readonly traceBytes: number
  readonly traceWalBytesPerDay: number
  readonly webCores: number
  readonly workerCores: number
  readonly mainDatabaseCores: number
  readonly mainBytes: number
  readonly runsInHand: number
}

/** One value to set, and why. */
export interface PlanLine {
  /** The path of a value of the chart, or what is set elsewhere. */
  readonly key: string
  readonly value: string | number
  readonly reason: string
  readonly from: Basis
  /** False for what the chart does not set. */
  readonly isOfChart: boolean
}

/** What to set for a load. */
export interface CapacityPlan {
  readonly demand: Demand
  readonly lines: readonly PlanLine[]
  readonly advice: readonly string[]
}

const [GIB, DAY_SECONDS] = [2 ** 30, 86_400]
/** The share of a processor that a load may take: the rest is for upgrades and failures. */
const USE = 0.7
/** More than was reckoned: sizes of prompts differ from week to week. */
const ROOM = 1.2
/** As `collector.resources` and the others of the chart have it. */
const CORES = { web: 1, worker: 1, collector: 0.5 } as const
const REPLICAS_MAX = 1000
/** Two: one is stopped in each upgrade, and a node may fail. */
const REPLICAS_MIN = 2
/** Connections of a pod of web, worker or the OAuth service, and of a collector. */
const CONNECTIONS = { platform: 12, collector: 10 } as const
const DEFAULT_CONNECTIONS = 100
const STORAGE_BYTES_MAX = 2 ** 50
/** The recorded lists go back so far, and roll-ups keep up with so many spans all day. */
const [HOT_DAYS_MEASURED, SPANS_PER_DAY_MAX] = [94, 3e9]
/** From where traces have a server of their own, and old days belong into files. */
const [OWN_SERVER_CORES, COLD_BYTES] = [1, 1e12]
/** Of an archived span: "Keep old days of traces as files". */
const COLD_SPAN_BYTES = MODEL_CALLS * 600 + (1 - MODEL_CALLS) * 70

const toWeeks = (days: number): number => Math.ceil(days / 7)

/** Computes what a load takes. */
export function demandOf({ spans, runs, days }: Load, ratios: Ratios): Demand {
  const traceBytesPerDay = spans.perDay * ratios.spanBytes.value
  return {
    collectorCores: costOf(ratios.spanInCollector, spans.peakPerSecond),
    traceDatabaseCores: costOf(ratios.spanInPostgres, spans.peakPerSecond),
    traceBytesPerDay,
    // And today: the oldest day is kept until all of it has expired.
    traceBytes: traceBytesPerDay * (toWeeks(days) * 7 + 1),
    traceWalBytesPerDay: costOf(ratios.spanWalBytes, spans.perDay / DAY_SECONDS) * DAY_SECONDS,
    webCores: runs.peakPerSecond * ratios.runInWeb.value,
    workerCores: runs.peakPerSecond * ratios.runInWorker.value,
    mainDatabaseCores: runs.peakPerSecond * ratios.runInPostgres.value,
    mainBytes: runs.perDay * ratios.runBytes.value * (days + 1),
    runsInHand: runs.peakPerSecond * ratios.runSeconds.value,
  }
}

/**
 * Plans what to set for a load. Raises `invalid_request` for a load that is more than one
 * installation takes, whatever is set.
 */
export function planCapacity(load: Load, ratios: Ratios): CapacityPlan {
  const demand = demandOf(load, ratios)
  const maxStorageBytes = Math.ceil((demand.traceBytes * ROOM) / GIB) * GIB
  if (maxStorageBytes > STORAGE_BYTES_MAX) {
    throw tooMuch(
      `${bytesText(demand.traceBytesPerDay)} of traces a day for ${load.days} days`,
      '1 PiB: keep them for fewer days',
    )
  }
  const pods = planPods(load, ratios, demand)
  const storage = planStorage(load, ratios, { demand, maxStorageBytes })
  const counts = new Map([...pods, ...storage].map(({ key, value }) => [key, Number(value)]))
  const server = planServer(demand, ratios, counts)
  return { demand, lines: [...pods, ...server, ...storage], advice: adviceOf(load, demand) }
}

function planPods({ spans, runs }: Load, ratios: Ratios, demand: Demand): PlanLine[] {
  const concurrency = demand.runsInHand / USE <= 10 * REPLICAS_MIN ? 10 : 50
  const inHand = Math.ceil(demand.runsInHand / USE / concurrency)
  const spansPerSecond = `${numberText(spans.peakPerSecond)} spans/s`
  const runsPerSecond = `${numberText(runs.peakPerSecond)} runs/s`
  const taken = `${numberText(demand.runsInHand)} runs at a time`
  return [
    ...workload('web', {
      cores: demand.webCores,
      load: `${runsPerSecond} × ${timeText(ratios.runInWeb)}`,
      ratio: ratios.runInWeb,
    }),
    ...workload('worker', {
      cores: demand.workerCores,
      load: `${runsPerSecond} × ${timeText(ratios.runInWorker)}`,
      ratio: inHand * USE > demand.workerCores ? ratios.runSeconds : ratios.runInWorker,
      atLeast: inHand,
      why: `${taken}, ${concurrency} each; `,
    }),
    chart('worker.concurrency', concurrency, [
      ratios.runSeconds,
      `${runsPerSecond} × ${numberText(ratios.runSeconds.value)} s are ${taken}`,
    ]),
    chart('worker.resources.limits.memory', concurrency > 10 ? '1Gi' : '512Mi', [
      ASSUMED,
      `${concurrency} runs at a time`,
    ]),
    ...workload('collector', {
      cores: demand.collectorCores,
      load: `${spansPerSecond} × ${timeText(ratios.spanInCollector)} at the most`,
      ratio: ratios.spanInCollector,
    }),
  ]
}

interface Workload {
  readonly cores: number
  /** The rate, and what each takes. */
  readonly load: string
  readonly ratio: Ratio
  /** Replicas that something else than the processor asks for. */
  readonly atLeast?: number
  readonly why?: string
}

function workload(
  name: keyof typeof CORES,
  { cores, load, ratio, atLeast = 0, why = '' }: Workload,
): PlanLine[] {
  const replicas = Math.max(REPLICAS_MIN, atLeast, Math.ceil(cores / USE / CORES[name]))
  if (replicas > REPLICAS_MAX) throw tooMuch(`${replicas} pods of ${name}`, String(REPLICAS_MAX))
  const reason = `${why}${load} = ${numberText(cores)} cores`
  const request = Math.max(2, Math.ceil((cores / replicas) * 20)) * 50
  return [
    chart(`${name}.replicaCount`, replicas, [ratio, reason, 'two at least']),
    chart(`${name}.resources.requests.cpu`, `${request}m`, [
      ratio,
      `${numberText(cores)} cores on ${replicas} pods`,
    ]),
  ]
}

function planStorage(
  { spans, runs, days }: Load,
  ratios: Ratios,
  { demand, maxStorageBytes }: { demand: Demand; maxStorageBytes: number },
): PlanLine[] {
  const { traceBytesPerDay, traceWalBytesPerDay, mainBytes } = demand
  // `max_wal_size` is a gigabyte by default, and eight where much is written; both may be exceeded.
  const wal = Math.min(16 * GIB, Math.max(2 * GIB, traceWalBytesPerDay / 48))
  const main = GIB + mainBytes * ROOM
  const volume = Math.max(2, Math.ceil((maxStorageBytes + main + wal) / GIB / 10)) * 10
  const perDay = `${numberText(spans.perDay)} spans/day × ${bytesText(ratios.spanBytes.value)}`
  return [
    chart('collector.config.retentionWeeks', String(toWeeks(days)), [
      SAID,
      `${days} days in whole weeks`,
    ]),
    chart('collector.config.maxStorageBytes', String(maxStorageBytes), [
      ratios.spanBytes,
      `${perDay} = ${bytesText(traceBytesPerDay)} a day, ${toWeeks(days)} weeks and today, and ` +
        'a fifth more',
    ]),
    chart('runs.retentionDays', days, [SAID, `${days} days`]),
    chart('postgres.storage.size', `${volume}Gi`, [
      maxStorageBytes > main ? ratios.spanBytes : ratios.runBytes,
      `${bytesText(maxStorageBytes)} of traces`,
      `${numberText(runs.perDay)} runs/day × ${bytesText(ratios.runBytes.value)}, with a fifth ` +
        `more ${bytesText(main)}`,
      `${bytesText(wal)} of WAL`,
    ]),
    elsewhere('WAL a day', bytesText(traceWalBytesPerDay), [
      ratios.spanWalBytes,
      'what replicas and a bucket of WAL take',
    ]),
    elsewhere('partitions of spans', toWeeks(days) * 7 + 5, [
      SAID,
      'one a day, made three days ahead and dropped as a whole',
    ]),
  ]
}

function planServer(
  { mainDatabaseCores, traceDatabaseCores, traceBytesPerDay }: Demand,
  ratios: Ratios,
  counts: ReadonlyMap<string, number>,
): PlanLine[] {
  const cores = mainDatabaseCores + traceDatabaseCores
  const count = (name: string): number => counts.get(`${name}.replicaCount`) ?? 0
  const platformPods = count('web') + count('worker') + REPLICAS_MIN
  const connections =
    platformPods * CONNECTIONS.platform + count('collector') * CONNECTIONS.collector + 8
  const cached = Math.min(64 * GIB, traceBytesPerDay / 20)
  const memory = Math.ceil(1 + (connections * 10) / 1024 + cached / GIB)
  const each = `${numberText(mainDatabaseCores)} cores of the main database and ${numberText(
    traceDatabaseCores,
  )} of the traces`
  const ratio =
    traceDatabaseCores > mainDatabaseCores ? ratios.spanInPostgres : ratios.runInPostgres
  return [
    chart('postgres.resources.limits.cpu', String(Math.max(2, Math.ceil(cores / USE))), [
      ratio,
      `${each}, for ${USE * 100} % of use`,
    ]),
    chart('postgres.resources.requests.cpu', `${Math.max(5, Math.ceil(cores * 20)) * 50}m`, [
      ratio,
      each,
    ]),
    chart('postgres.resources.limits.memory', `${memory}Gi`, [
      ASSUMED,
      `1 GiB, 10 MiB for each of ${connections} connections, a twentieth of a day of traces`,
    ]),
    elsewhere('max_connections', Math.max(DEFAULT_CONNECTIONS, connections), [
      ASSUMED,
      `${platformPods} pods with ${CONNECTIONS.platform}, ${count('collector')} collectors with ` +
        `${CONNECTIONS.collector}, some for people; twice as many while an upgrade doubles them`,
    ]),
  ]
}

function adviceOf({ spans, days }: Load, demand: Demand): string[] {
  const { traceBytesPerDay, traceBytes, traceDatabaseCores, traceWalBytesPerDay } = demand
  const hotDays = Math.max(7, Math.min(30, Math.floor(COLD_BYTES / traceBytesPerDay)))
  const isCold = (traceBytes > COLD_BYTES || days > HOT_DAYS_MEASURED) && days > hotDays
  const cold = spans.perDay * Math.max(0, days - hotDays) * COLD_SPAN_BYTES
  const isOwn = traceDatabaseCores > OWN_SERVER_CORES || traceBytes > COLD_BYTES
  const isCitus = spans.perDay > SPANS_PER_DAY_MAX
  return [
    isCold
      ? `collector.archive is advised: enabled true, hotDays ${hotDays}, coldDays ${days} leave ` +
        `${bytesText(traceBytesPerDay * (hotDays + 1))} in the database and put ` +
        `${bytesText(cold)} into the bucket (docs/cold-days.md).`
      : 'collector.archive is not needed: all days fit into the database.',
    isOwn
      ? `A server for the traces (collector.database) is advised, with ` +
        `${numberText(Math.ceil(traceDatabaseCores / USE))} or more processors and ` +
        `${bytesText(traceWalBytesPerDay)} of WAL a day (docs/grow.md).`
      : 'One server carries both databases.',
    isCitus
      ? `Citus is advised: ${numberText(spans.perDay)} spans/day are more than the ` +
        `${numberText(SPANS_PER_DAY_MAX)} from which roll-ups on one server fall behind ` +
        '(docs/grow.md).'
      : 'Citus is not needed.',
  ]
}

const SAID: Ratio = { value: 0, from: 'load' }
const ASSUMED: Ratio = { value: 0, from: 'assumed' }

const chart = (
  key: string,
  value: string | number,
  [{ from }, ...reasons]: readonly [Ratio, ...string[]],
): PlanLine => ({ key, value, reason: reasons.join(', '), from, isOfChart: true })

const elsewhere = (...args: Parameters<typeof chart>): PlanLine => ({
  ...chart(...args),
  isOfChart: false,
})

const tooMuch = (what: string, most: string): AppError =>
  new AppError('invalid_request', `${what} are more than one installation takes: at most ${most}.`)

const timeText = ({ value }: Ratio): string =>
  value < 1e-3 ? `${numberText(value * 1e6)} µs` : `${numberText(value * 1e3)} ms`
