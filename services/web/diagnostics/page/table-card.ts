import { html } from 'hono/html'
import type { Html } from '../../console/frame/parts.ts'

/** A card with a table; the columns of numbers stand to the right of the others. */
interface TableCard {
  readonly id: string
  readonly title: string
  /** Beside the title. */
  readonly aside: Html | string
  readonly columns: readonly string[]
  readonly numbers?: readonly string[]
  readonly rows: readonly Html[]
}

/** Renders a card with a table. */
export const tableCard = ({ id, title, aside, columns, numbers = [], rows }: TableCard): Html =>
  html`<section class="card flush" aria-labelledby="${id}">
    <div class="card-head">
      <h2 id="${id}">${title}</h2>
      ${aside ? html`<span class="hint break">${aside}</span>` : ''}
    </div>
    <table class="list" aria-labelledby="${id}">
      <thead>
        <tr>
          ${columns.map((name) => html`<th scope="col">${name}</th>`)}
          ${numbers.map((name) => html`<th scope="col" class="number">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`
