import { html } from 'hono/html'
import { PLACES_MIN } from './bar-chart.ts'
import type { Html } from './html.ts'

const HEIGHT = 96
const STEP = 20
const DASH = 4
/** Labels below the lines. */
const LABELS = 4

/** The colour of a line. */
type LineTone = 'low' | 'high' | 'cost'

/** Values over time, of which some may be missing. */
export interface Line {
  readonly tone: LineTone
  readonly name: string
  readonly values: readonly (number | null)[]
}

/** Lines on an axis. */
interface LineChart {
  readonly lines: readonly Line[]
  /** Below each place, where there is room. */
  readonly labels: readonly string[]
  /** What each place says in words. */
  readonly titles: readonly string[]
  /** All of it in a sentence, for those who cannot see it. */
  readonly summary: string
  readonly unit: string
  readonly textOf: (value: number) => string
}

/** Draws lines, with a gap where there is no value. */
export function lineChart({ lines, labels, titles, summary, unit, textOf }: LineChart): Html {
  const top = topOf(Math.max(0, ...lines.flatMap(({ values }) => values.map(Number))))
  const places = Math.max(PLACES_MIN, labels.length)
  const width = places * STEP
  const apart = Math.max(1, Math.ceil(labels.length / LABELS))
  return html`<figure class="chart">
    <div class="plot">
      <ul class="axis" aria-hidden="true">
        ${[top, top / 2, 0].map((value) => html`<li>${textOf(value)}</li>`)}
      </ul>
      <svg
        viewBox="0 0 ${width} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${summary}"
      >
        ${[0, HEIGHT / 2, HEIGHT - 1].map(
          (y) => html`<rect class="base" x="0" y="${y}" width="${width}" height="1" />`,
        )}
        ${titles.map(
          (title, index) =>
            html`<g>
              <title>${title}</title>
              <rect class="hit" x="${index * STEP}" y="0" width="${STEP}" height="${HEIGHT}" />
            </g>`,
        )}
        ${lines.map((line) => pathOf(line, top))}
      </svg>
      <ul class="hours" aria-hidden="true">
        ${Array.from(
          { length: places },
          (_, index) => html`<li>${index % apart === 0 ? labels[index] : ''}</li>`,
        )}
      </ul>
    </div>
    <figcaption>
      <span class="legend"
        >${lines.map(({ tone, name }) => html`<span class="key ${tone}">${name}</span>`)}</span
      >
      <span>${unit}</span>
    </figcaption>
  </figure>`
}

/** A round number that is not below. */
function topOf(highest: number): number {
  if (highest <= 0) return 1
  const magnitude = 10 ** Math.floor(Math.log10(highest))
  return (
    [1, 2, 4, 6, 8].map((step) => step * magnitude).find((top) => top >= highest) ?? 10 * magnitude
  )
}

/** A value without neighbours is a dash of its own. */
function pathOf({ tone, values }: Line, top: number): Html {
  const isMissing = (index: number): boolean => (values[index] ?? null) === null
  const steps = values
    .map((value, index) => {
      if (value === null) return ''
      const x = index * STEP + STEP / 2
      const y = (HEIGHT - 1 - (value / top) * (HEIGHT - 1)).toFixed(1)
      if (!isMissing(index - 1)) return `L${x} ${y}`
      return isMissing(index + 1) ? `M${x - DASH} ${y}L${x + DASH} ${y}` : `M${x} ${y}`
    })
    .join('')
  return html`<path class="${tone}" d="${steps}" />`
}
