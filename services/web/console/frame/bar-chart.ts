import { html } from 'hono/html'
import { count } from './format.ts'
import type { Html } from './html.ts'

const HEIGHT = 96
const STEP = 20
const BAR = 12
/** Labels below the bars. */
const LABELS = 4
/** Fewer bars leave room beside them, in place of being wider. */
export const PLACES_MIN = 14

/** The colour of a part of a bar. */
type BarTone = 'good' | 'bad' | 'busy'

/** A bar of numbers on top of each other. */
export interface Bar {
  /** Below it, where there is room: `09:00`. */
  readonly label: string
  /** What it says in words. */
  readonly title: string
  /** From below. */
  readonly parts: readonly { readonly tone: BarTone; readonly count: number }[]
}

/** Bars on an axis, and the same numbers as a table. */
interface BarChart {
  readonly bars: readonly Bar[]
  /** All of it in a sentence, for those who cannot see it. */
  readonly summary: string
  readonly legend: Readonly<Partial<Record<BarTone, string>>>
  /** The unit of the axis below. */
  readonly unit: string
  /** The same numbers; none where they are on the page already. */
  readonly table?: Html
}

/** Draws bars, of at most some hundreds. */
export function barChart({ bars, summary, legend, unit, table }: BarChart): Html {
  const top = axisTop(
    Math.max(0, ...bars.map(({ parts }) => parts.reduce((sum, part) => sum + part.count, 0))),
  )
  const places = Math.max(PLACES_MIN, bars.length)
  const apart = Math.max(1, Math.ceil(bars.length / LABELS))
  return html`<figure class="chart">
    <div class="plot">
      <ul class="axis" aria-hidden="true">
        <li>${count(top)}</li>
        <li>${count(top / 2)}</li>
        <li>0</li>
      </ul>
      <svg
        viewBox="0 0 ${places * STEP} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${summary}"
      >
        ${[0, HEIGHT / 2, HEIGHT - 1].map((y) =>
          rect('base', { x: 0, y, width: places * STEP, height: 1 }),
        )}
        ${bars.map((each, index) => bar(each, index * STEP + (STEP - BAR) / 2, top))}
      </svg>
      <ul class="hours" aria-hidden="true">
        ${Array.from(
          { length: places },
          (_, index) => html`<li>${index % apart === 0 ? bars[index]?.label : ''}</li>`,
        )}
      </ul>
    </div>
    <figcaption>
      <span class="legend"
        >${Object.entries(legend).map(
          ([tone, name]) => html`<span class="key ${tone}">${name}</span>`,
        )}</span
      >
      <span>${unit}</span>
    </figcaption>
    ${
      table === undefined
        ? ''
        : html`<details class="more">
            <summary>Show as a table</summary>
            ${table}
          </details>`
    }
  </figure>`
}

/** Returns the number at the top of the axis: even, so that its half is a whole number too. */
export function axisTop(highest: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(highest, 1)))
  const steps = [1, 2, 4, 6, 8, 10].map((step) => step * magnitude)
  return Math.max(4, steps.find((step) => step >= highest && step % 2 === 0) ?? highest)
}

function bar({ title, parts }: Bar, x: number, top: number): Html {
  let y = HEIGHT - 1
  const rects = parts
    .filter((part) => part.count > 0)
    .map((part) => {
      const height = (part.count / top) * (HEIGHT - 1)
      y -= height
      return rect(part.tone, { x, y, width: BAR, height })
    })
  const place = { x: x - (STEP - BAR) / 2, y: 0, width: STEP, height: HEIGHT }
  return html`<g>
    <title>${title}</title>
    ${rect('hit', place)} ${rects}
  </g>`
}

interface Place {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const rect = (tone: string, { x, y, width, height }: Place): Html =>
  html`<rect
    class="${tone}"
    x="${x}"
    y="${y.toFixed(1)}"
    width="${width}"
    height="${height.toFixed(1)}"
  />`
