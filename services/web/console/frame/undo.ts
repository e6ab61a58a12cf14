import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { icon } from './icons.ts'
import { csrfField, noticeBox } from './parts.ts'
import type { Html } from './parts.ts'

/** The form that takes back what was just done, with all that it needs. */
export interface Undo {
  readonly action: string
  readonly fields?: Readonly<Record<string, string>>
}

/** Returns the button of a page that takes something back; undefined for no button. */
export const undoAt = (path: string, button: string | undefined): Undo | undefined =>
  button === undefined ? undefined : { action: `${path}/${button}` }

/** The confirmation of what was just done, with the way back where there is one. */
export function doneNotice(
  { csrfToken }: Pick<Session, 'csrfToken'>,
  text: string | undefined,
  undo: Undo | undefined,
): Html | string {
  if (text === undefined || undo === undefined) return noticeBox(text)
  return html`<div class="notice good with-undo">
    ${icon('check')}<span role="status">${text}</span>
    <form method="post" action="${undo.action}">
      ${csrfField(csrfToken)} ${hidden(undo.fields)}
      <button class="button small">Undo</button>
    </form>
  </div>`
}

/** A form for what cannot be undone. */
export interface Final {
  readonly action: string
  /** What folds the button out: `Delete this webhook`. */
  readonly what: Html | string
  /** The text of the button. @default Delete for good */
  readonly verb?: string
  readonly fields?: Readonly<Record<string, string>>
}

/** A button that is folded, so that no single click does what cannot be undone. */
export const finalForm = (
  { csrfToken }: Pick<Session, 'csrfToken'>,
  { action, what, verb = 'Delete for good', fields }: Final,
): Html =>
  html`<form method="post" action="${action}">
    ${csrfField(csrfToken)} ${hidden(fields)}
    <details class="more">
      <summary>${what}…</summary>
      <button class="button danger">${verb}</button>
    </details>
  </form>`

const hidden = (fields: Readonly<Record<string, string>> = {}): Html =>
  html`${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  )}`
