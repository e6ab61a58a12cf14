import { html } from 'hono/html'
import { count } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'
import { nsText } from '../frame/amounts.ts'
import { kindIcon } from '../frame/kinds.ts'
import { axisTimes, timeBar } from '../frame/time-bar.ts'
import type { SpanRow } from './span-row.ts'

/** The rows of a tree, and where they lead. */
interface Waterfall {
  readonly rows: readonly SpanRow[]
  /** The length of the time axis. */
  readonly lengthNs: number
  /** The span that is shown beside the tree. */
  readonly selected: string | undefined
  /** The address of a span. */
  readonly spanPath: (id: string) => string
}

/** Deeper rows are indented no further, and say how deep they are. */
const INDENT_MAX = 16

/** The tree with a bar for each span on one time axis. */
export const waterfall = (view: Waterfall): Html =>
  html`<table class="waterfall">
    <caption class="unseen">
      Spans, as a tree, with their time
    </caption>
    <thead>
      <tr>
        <th scope="col">Span</th>
        <th scope="col" class="number">Tokens</th>
        <th scope="col" class="number">Duration</th>
        <th scope="col" class="axis">${axisTimes(view.lengthNs)}</th>
      </tr>
    </thead>
    <tbody>
      ${view.rows.map((row) => spanRow(row, view))}
    </tbody>
  </table>`

function spanRow(row: SpanRow, { lengthNs, selected, spanPath }: Waterfall): Html {
  const { id, depth, name, kind, label, durationNs, tokens, isError, isOdd } = row
  return html`<tr
    id="span-${id}"
    class="${isError ? 'bad' : ''}"
    ${id === selected ? html`aria-current="true"` : ''}
  >
    <td class="span-name d${Math.min(depth, INDENT_MAX)}">
      ${kindIcon(kind)}
      <a href="${spanPath(id)}">${name}</a>
      ${label === null ? '' : html`<span class="quiet">${label}</span>`}
      ${depth > INDENT_MAX ? html`<span class="depth">level ${depth}</span>` : ''}
      ${isError ? html`<span class="flag bad">Error</span>` : ''}
      ${isOdd ? html`<span class="flag waiting">Note</span>` : ''}
    </td>
    <td class="number">${tokens === null ? '' : count(tokens)}</td>
    <td class="number">${durationNs === null ? 'running' : nsText(durationNs)}</td>
    <td class="axis">${timeBar(row, lengthNs)}</td>
  </tr>`
}
