import { connect } from 'node:tls'
import { stringify } from 'yaml'
import { deadline } from '../../shared/deadline.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { amountOn, growthOf } from '../../shared/growth.ts'
import { readDatabases } from '../databases.ts'
import type { PlanCommand } from '../options.ts'
import { readValues } from '../preflight/values.ts'
import type { ChartValues } from '../preflight/values.ts'
import { numberText } from './amount-texts.ts'
import { planCapacity } from './capacity.ts'
import type { CapacityPlan, Load, PlanLine } from './capacity.ts'
import { findEnds } from './forecast.ts'
import type { End, Seen } from './forecast.ts'
import { MACHINE, ratiosOf } from './ratios.ts'
import type { Ratios } from './ratios.ts'
import { readRuns, readSeen, readTraces } from './seen.ts'
import type { EndingKey, Look } from './seen.ts'
import { PEAK, readWish } from './wish.ts'
import type { Rate, Wish } from './wish.ts'

const DAY_SECONDS = 86_400
/** A plan of now is for the load in a quarter of a year. */
const HORIZON_DAYS = 90
const CERTIFICATE_MS = 5000

interface Reading {
  readonly seen: Seen
  /** What could not be read, and why. */
  readonly unread: readonly string[]
}

/**
 * Plans the values for a load, and returns them as YAML with the reasons as comments, or as JSON.
 * Raises `invalid_request` for a load that is not understood, or of which too little is known.
 */
export async function makePlan(command: PlanCommand, env: EnvSource): Promise<string> {
  const wish = command.plan === undefined ? {} : readWish(command.plan)
  const values = await readValues(command.values)
  const { seen, unread } = await readInstallation(command, env)
  const ratios = ratiosOf({
    ...seen.traces?.ratios,
    ...seen.runs?.ratios,
    ...(wish.runSeconds === undefined ? {} : { runSeconds: wish.runSeconds }),
  })
  const load = loadOf(wish, { seen, values, ratios, isFromNow: command.isFromNow })
  const { demand, lines, advice } = forServer(planCapacity(load, ratios), values)
  const ends = command.isFromNow ? findEnds(seen, values, new Date()) : undefined
  const chart = nest(lines)
  if (!command.json) return toText({ load, lines, advice, unread, ends, chart })
  const answer = { machine: MACHINE, load, demand, lines, advice, unread, ends, values: chart }
  return `${JSON.stringify(answer, null, 2)}\n`
}

async function readInstallation(command: PlanCommand, env: EnvSource): Promise<Reading> {
  const databases = readDatabases(env)
  const [runs, traces, certificate] = await Promise.all([
    readSeen('the main database', databases.main, readRuns),
    readSeen('the trace database', databases.traces, readTraces),
    readCertificate(command.url),
  ])
  return {
    seen: { runs: runs.seen, traces: traces.seen, certificate: certificate.seen },
    unread: [runs, traces, certificate].flatMap(({ problem }) => problem ?? []),
  }
}

/** Reads until when the certificate of an address is valid, whoever has signed it. */
async function readCertificate(url: string | undefined): Promise<Look<EndingKey>> {
  if (!url?.startsWith('https:')) return {}
  const { hostname: host, port } = new URL(url)
  try {
    const ends = await deadline(
      { name: url, timeoutMs: CERTIFICATE_MS },
      (signal) =>
        new Promise<Date>((resolve, reject) => {
          const options = { host, port: Number(port || 443), servername: host }
          // Nothing is sent: that it is about to end is to be said of any certificate.
          const socket = connect({ ...options, rejectUnauthorized: false }, () => {
            resolve(new Date(socket.getPeerCertificate().valid_to))
            socket.destroy()
          })
          socket.once('error', reject)
          signal.addEventListener('abort', () => socket.destroy(toError(signal.reason)))
        }),
    )
    return { seen: { name: `the certificate of ${url}`, ends } }
  } catch (thrown) {
    return { problem: `the certificate of ${url}: ${toError(thrown).message}` }
  }
}

interface Sources {
  readonly seen: Seen
  readonly values: ChartValues
  readonly ratios: Ratios
  readonly isFromNow: boolean
}

function loadOf(wish: Wish, { seen, values, ratios, isFromNow }: Sources): Load {
  const grown = (counts: readonly number[] | undefined): Rate | undefined =>
    isFromNow && counts ? rateIn(HORIZON_DAYS, counts) : undefined
  const runs = wish.runs ?? grown(seen.runs?.counts)
  const spans = wish.spans ?? grown(seen.traces?.counts)
  if (!runs && !spans) throw new AppError('invalid_request', isFromNow ? TOO_YOUNG : NO_RATE)
  return {
    runs: runs ?? NOTHING,
    spans: spans ?? scaled(runs, ratios.runSpans.value),
    days: wish.days ?? keptDays(seen, values),
  }
}

const TOO_YOUNG =
  'Neither database has seven whole days to read a growth from: say the load with --plan.'
const NO_RATE =
  '--plan names no rate of spans or runs: add one such as "10M spans/day", or --from-now.'
const NOTHING: Rate = { perDay: 0, peakPerSecond: 0 }

const keptDays = ({ traces }: Seen, { runs, collector }: ChartValues): number =>
  Math.max(runs.retentionDays, traces?.keptDays ?? Number(collector.config.retentionWeeks) * 7)

const scaled = ({ perDay, peakPerSecond }: Rate = NOTHING, by: number): Rate => ({
  perDay: perDay * by,
  peakPerSecond: peakPerSecond * by,
})

function rateIn(daysAhead: number, counts: readonly number[]): Rate | undefined {
  const growth = growthOf(counts)
  if (!growth) return undefined
  // What shrinks is planned as it is.
  const perDay = Math.max(1, growth.today, amountOn(growth, daysAhead))
  return { perDay, peakPerSecond: (perDay / DAY_SECONDS) * PEAK }
}

/** The chart sets nothing of a server that it does not run. */
function forServer(plan: CapacityPlan, { postgres }: ChartValues): CapacityPlan {
  if (postgres.enabled) return plan
  const lines = plan.lines.map((line) =>
    line.key.startsWith('postgres.') ? { ...line, isOfChart: false } : line,
  )
  return { ...plan, lines }
}

type Nested = { [name: string]: Nested | string | number }

function nest(lines: readonly PlanLine[]): Nested {
  const values: Nested = {}
  for (const { key, value, isOfChart } of lines) {
    if (!isOfChart) continue
    const path = key.split('.')
    const last = path.pop() ?? ''
    let place = values
    for (const name of path) {
      const below = (place[name] ??= {})
      if (typeof below === 'object') place = below
    }
    place[last] = value
  }
  return values
}

interface Shown {
  readonly load: Load
  readonly lines: readonly PlanLine[]
  readonly advice: readonly string[]
  readonly unread: readonly string[]
  readonly ends: readonly End[] | undefined
  readonly chart: Nested
}

const FROM = {
  load: 'as the load says',
  here: 'seen on this installation',
  bench: `recorded on ${MACHINE}`,
  assumed: 'chosen: nothing says it better',
} as const

/** Values of the chart, with all else as comments. */
function toText({ load, lines, advice, unread, ends, chart }: Shown): string {
  const { spans, runs, days } = load
  const width = Math.max(...lines.map(({ key, value }) => `${key}: ${value}`.length))
  const comments = [
    `Plan for ${numberText(spans.perDay)} spans/day (${numberText(spans.peakPerSecond)}/s at the ` +
      `peak), ${numberText(runs.perDay)} runs/day (${numberText(runs.peakPerSecond)}/s), ` +
      `${days} days.`,
    '',
    ...Object.entries(FROM).map(([name, words]) => `${name.padEnd(8)} ${words}`),
    ...unread.map((problem) => `not read ${problem}`),
    '',
    ...lines.map(
      ({ key, value, from, reason }) =>
        `${`${key}: ${value}`.padEnd(width)}  ${from.padEnd(8)} ${reason}`,
    ),
    '',
    ...advice,
    ...(ends ? ['', 'At the growth of the last 28 days:', ...ends.flatMap(endLines)] : []),
  ]
  const text = comments.map((line) => `# ${plain(line)}`.trimEnd()).join('\n')
  return `${text}\n\n${stringify(chart)}`
}

const endLines = ({ what, on, reason, remedy }: End): string[] => [
  `  ${on ?? 'not in five years'}  ${what}: ${reason}`,
  ...(on === null ? [] : [`    → ${remedy}`]),
]

/** In one line: names and errors come from elsewhere, and must not end the comment. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
