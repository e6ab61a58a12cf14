import { html } from 'hono/html'
import { nsText } from './amounts.ts'
import type { KindName } from './kinds.ts'
import type { Html } from './parts.ts'

/** A part of a time axis that something took. */
interface TimeBar {
  readonly kind: KindName
  /** From the beginning of the axis. */
  readonly startNs: number
  /** Null for what has no end: its bar goes on to the end of the axis. */
  readonly durationNs: number | null
  readonly isCritical: boolean
}

/** The width of the axis in units of its drawings. */
const AXIS = 1000
const TICKS = 4

/** The times along an axis. */
export const axisTimes = (lengthNs: number): Html =>
  html`<span class="unseen">Time from the start</span
    ><span class="axis-times" aria-hidden="true"
      >${Array.from(
        { length: TICKS + 1 },
        (_, tick) => html`<span>${tick === 0 ? '0' : nsText((lengthNs * tick) / TICKS)}</span>`,
      )}</span
    >`

/** A bar on a time axis, hidden from screen readers: the numbers beside it say the same. */
export function timeBar(bar: TimeBar, lengthNs: number): Html {
  const { startNs, durationNs, kind, isCritical } = bar
  const scale = AXIS / (lengthNs || 1)
  const x = Math.max(0, Math.min(AXIS - 2, startNs * scale))
  const end = durationNs === null ? AXIS : (startNs + durationNs) * scale
  const width = Math.max(2, Math.min(AXIS, end) - x)
  return html`<svg viewBox="0 0 ${AXIS} 10" preserveAspectRatio="none" aria-hidden="true">
    <rect
      class="bar ${kind}${durationNs === null ? ' open' : ''}${isCritical ? ' critical' : ''}"
      x="${x.toFixed(1)}"
      width="${width.toFixed(1)}"
      height="10"
    />
  </svg>`
}
