import { html } from 'hono/html'
import type { TraceHistogram } from '../../../shared/trace-answers/lists.ts'
import { barChart } from '../frame/bar-chart.ts'
import type { Bar } from '../frame/bar-chart.ts'
import { count, plural } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'

const INTERVALS_MS: Readonly<Record<string, number>> = {
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '1d': 86_400_000,
  '7d': 604_800_000,
}
const NAMES: Readonly<Record<string, string>> = {
  '1m': '1 minute',
  '5m': '5 minutes',
  '15m': '15 minutes',
  '1h': '1 hour',
  '6h': '6 hours',
  '1d': '1 day',
  '7d': '7 days',
}
const DAY_MS = 86_400_000
const BARS_MAX = 150
/** Fewer bars would be as wide as doors. */
const BARS_MIN = 14

type Bucket = TraceHistogram['buckets'][number]

/** Traces by the time of their start; nothing while there is none. */
export function traceHistogram(
  { interval, buckets }: TraceHistogram,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Html | string {
  const ms = INTERVALS_MS[interval]
  if (buckets.length === 0 || ms === undefined) return ''
  const filled = fill(buckets, { ms, fromMs, untilMs })
  const sum = (of: (bucket: Bucket) => number): number =>
    buckets.reduce((total, bucket) => total + of(bucket), 0)
  const failed = sum(({ error }) => error)
  return barChart({
    bars: filled.map((bucket) => toBar(bucket, ms >= DAY_MS || filled.length * ms > 2 * DAY_MS)),
    summary: `${plural(
      sum(({ traces }) => traces),
      'trace',
    )} by time, ${count(failed)} of them failed`,
    legend: { good: 'Ok', bad: 'Failed', busy: 'Running or incomplete' },
    unit: `Each bar is ${NAMES[interval] ?? interval}, in UTC`,
    table: table(buckets, ms),
  })
}

interface Times {
  readonly ms: number
  /** -Infinity for the first trace. */
  readonly fromMs: number
  readonly untilMs: number
}

/** With the times at which nothing started, up to a number that fits a page. */
function fill(buckets: readonly Bucket[], { ms, fromMs, untilMs }: Times): Bucket[] {
  const byTime = new Map(buckets.map((bucket) => [Date.parse(bucket.from), bucket]))
  // Every bucket begins at the same place of its interval.
  const first = Date.parse(buckets[0]?.from ?? '')
  const last = Date.parse(buckets.at(-1)?.from ?? '')
  const end = last + Math.max(0, Math.floor((untilMs - last) / ms)) * ms
  const earliest = Number.isFinite(fromMs) ? first - Math.ceil((first - fromMs) / ms) * ms : first
  const few = end - (BARS_MIN - 1) * ms
  const begin = Math.max(Math.min(first, earliest, few), end - (BARS_MAX - 1) * ms)
  const empty = { traces: 0, ok: 0, error: 0, running: 0, incomplete: 0 }
  return Array.from({ length: Math.round((end - begin) / ms) + 1 }, (_, index) => {
    const at = begin + index * ms
    return byTime.get(at) ?? { from: new Date(at).toISOString(), ...empty }
  })
}

/** The time of day, or the day where the bars go over several. */
const labelOf = (from: string, isLong: boolean): string => {
  const iso = new Date(from).toISOString()
  return isLong ? iso.slice(5, 10) : iso.slice(11, 16)
}

function toBar(bucket: Bucket, isLong: boolean): Bar {
  const { from, ok, error, running, incomplete } = bucket
  return {
    label: labelOf(from, isLong),
    title: `${from}: ${count(ok)} ok, ${count(error)} failed, ${count(running + incomplete)} open`,
    parts: [
      { tone: 'good', count: ok },
      { tone: 'bad', count: error },
      { tone: 'busy', count: running + incomplete },
    ],
  }
}

const table = (buckets: readonly Bucket[], ms: number): Html =>
  html`<table class="list tight">
    <caption class="unseen">
      Traces by time
    </caption>
    <thead>
      <tr>
        <th scope="col">From (UTC)</th>
        <th scope="col" class="number">Ok</th>
        <th scope="col" class="number">Failed</th>
        <th scope="col" class="number">Open</th>
      </tr>
    </thead>
    <tbody>
      ${buckets.map(
        ({ from, ok, error, running, incomplete }) =>
          html`<tr>
            <td class="lead">${from.slice(0, 10)} ${ms < DAY_MS ? from.slice(11, 16) : ''}</td>
            <td class="number" data-label="Ok">${count(ok)}</td>
            <td class="number" data-label="Failed">${count(error)}</td>
            <td class="number" data-label="Open">${count(running + incomplete)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
