import { html } from 'hono/html'
import { count } from '../format.ts'
import type { Html } from '../parts.ts'
import { jsonTree } from './json-tree.ts'
import { isJson } from './text-format.ts'
import { plainText, renderText } from './text-view.ts'
import { hasInvisible, visibleText } from './visible-text.ts'

/** The most of a text that a page shows, in characters; the whole of it is in the download. */
const SHOWN_MAX = 100_000
/** Lines beyond this are folded. */
const SHORT_LINES = 12
const SHORT = 1200

/** How a text is shown: rendered as what it seems to be, or exactly as it was written. */
export type ShownAs = 'document' | 'text'

/** A text of somebody else, rendered where that is safe, bounded and with nothing hidden. */
export function foreignText(text: string, label: string, as: ShownAs = 'document'): Html {
  const cut = text.length > SHOWN_MAX ? text.slice(0, SHOWN_MAX) : text
  const shown = visibleText(cut)
  const body = html`${hasInvisible(cut) ? note('Control characters are shown as symbols.') : ''}
  ${as === 'text' ? plainText(shown) : renderText(shown)}
  ${
    cut.length < text.length
      ? note(`The first ${count(SHOWN_MAX)} of ${count(text.length)} characters.`)
      : ''
  }`
  return shown.length > SHORT || shown.split('\n', SHORT_LINES + 1).length > SHORT_LINES
    ? html`<div class="output" tabindex="0" role="group" aria-label="${label}">${body}</div>`
    : html`<div>${body}</div>`
}

/** A value for a table of facts: a short text in line, JSON and long texts in a fold. */
export function foreignValue(text: string, label: string): Html {
  const shown = visibleText(text.slice(0, SHOWN_MAX))
  if (shown.length <= 160 && !shown.includes('\n')) return html`${shown}`
  const body = isJson(shown) ? jsonTree(shown) : shown
  return html`<details class="more">
    <summary>${count(text.length)} characters</summary>
    <div class="output prose" tabindex="0" role="group" aria-label="${label}">
      ${body}${
        text.length > SHOWN_MAX
          ? `\n… the first ${count(SHOWN_MAX)} of ${count(text.length)} characters`
          : ''
      }
    </div>
  </details>`
}

const note = (text: string): Html => html`<p class="hint">${text}</p>`
