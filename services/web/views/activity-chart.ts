import { html } from 'hono/html'
import type { HourOfExecutions } from '../../platform/activity.ts'
import { plural } from './format.ts'
import type { Html } from './parts.ts'

const HEIGHT = 96
const STEP = 20
const BAR = 12

/** The runs of the last hours as stacked bars; each bar tells its numbers when pointed at. */
export function activityChart(hours: readonly HourOfExecutions[]): Html {
  const totals = hours.map(({ completed, failed, open }) => completed + failed + open)
  const highest = Math.max(4, ...totals)
  const all = totals.reduce((sum, each) => sum + each, 0)
  const failed = hours.reduce((sum, each) => sum + each.failed, 0)
  return html`<figure class="chart">
    <svg
      viewBox="0 0 ${hours.length * STEP} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${plural(all, 'execution')} in the last 24 hours, ${failed} of them failed or stopped"
    >
      ${hours.map((hour, index) => bar(hour, index * STEP + (STEP - BAR) / 2, highest))}
    </svg>
    <figcaption>
      <span>24 hours ago</span>
      <span class="legend"
        ><span class="key good">Completed</span><span class="key bad">Failed or stopped</span
        ><span class="key busy">In progress</span></span
      >
      <span>Now</span>
    </figcaption>
  </figure>`
}

function bar(hour: HourOfExecutions, x: number, highest: number): Html {
  const scale = (runs: number): number => (runs / highest) * (HEIGHT - 4)
  const parts = [
    { tone: 'good', height: scale(hour.completed) },
    { tone: 'bad', height: scale(hour.failed) },
    { tone: 'busy', height: scale(hour.open) },
  ]
  let top = HEIGHT - 2
  const rects = parts
    .filter(({ height }) => height > 0)
    .map(({ tone, height }) => {
      top -= height
      return rect(tone, { x, y: top, height })
    })
  return html`<g>
    <title>
      ${hour.hour.toISOString().slice(11, 16)} UTC: ${hour.completed} completed, ${hour.failed}
      failed or stopped, ${hour.open} in progress
    </title>
    ${rect('hit', { x: x - (STEP - BAR) / 2, y: 0, height: HEIGHT })}
    ${rect('base', { x, y: HEIGHT - 2, height: 2 })} ${rects}
  </g>`
}

function rect(tone: string, { x, y, height }: { x: number; y: number; height: number }): Html {
  const width = tone === 'hit' ? STEP : BAR
  return html`<rect
    class="${tone}"
    x="${x}"
    y="${y.toFixed(1)}"
    width="${width}"
    height="${height.toFixed(1)}"
  />`
}
