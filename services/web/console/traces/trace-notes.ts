import { html } from 'hono/html'
import { includesRole } from '../../../platform/people/memberships.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { RATINGS, TRACE_NOTE_MAX } from '../../../platform/traces/trace-notes.ts'
import type { Rating, TraceNote } from '../../../platform/traces/trace-notes.ts'
import { plural } from '../frame/format.ts'
import { csrfField, pill, time } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { plainText } from '../frame/text/text-view.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** What people say of a trace, and who looks at it. */
interface TraceNotesView {
  readonly session: Session
  readonly tracePath: string
  /** The filter of the list that led to the trace. */
  readonly list: string | undefined
  readonly notes: readonly TraceNote[]
}

const NAMES: Readonly<Record<Rating, string>> = { good: 'Good', bad: 'Bad' }
const TONES: Readonly<Record<Rating, Tone>> = { good: 'good', bad: 'bad' }

/** The notes of a trace, and a fold with the form that adds one. */
export function traceNotes(view: TraceNotesView): Html {
  const { session, notes } = view
  const mayWrite = session.role !== null && includesRole(session.role, 'editor')
  return html`${
    notes.length > 0
      ? html`<section class="card" aria-label="Notes">
          <ul class="notes">
            ${notes.map((note) => oneNote(note, view))}
          </ul>
        </section>`
      : ''
  }
  ${
    mayWrite
      ? html`<details class="more add-note">
          <summary>Rate or add a note</summary>
          <div class="card">${form(view)}</div>
        </details>`
      : ''
  }`
}

const listField = (list: string | undefined): Html | string =>
  list === undefined ? '' : html`<input type="hidden" name="list" value="${list}" />`

const oneNote = (given: TraceNote, { session, tracePath, list }: TraceNotesView): Html =>
  html`<li>
    <div class="pair">
      <strong>${visibleText(given.author ?? 'A program or a former member')}</strong>
      ${given.rating === null ? '' : pill(TONES[given.rating], NAMES[given.rating])}
      <span class="quiet">${time(given.createdAt)}</span>
      ${
        given.authorId === session.user.id
          ? finalForm(session, {
              action: `${tracePath}/notes/${given.id}/delete`,
              what: 'Delete',
              ...(list === undefined ? {} : { fields: { list } }),
            })
          : ''
      }
    </div>
    ${given.note === '' ? '' : plainText(visibleText(given.note))}
  </li>`

const form = ({ session, tracePath, list }: TraceNotesView): Html =>
  html`<form method="post" action="${tracePath}/notes">
    ${csrfField(session.csrfToken)} ${listField(list)}
    <fieldset class="choices">
      <legend>This trace is</legend>
      ${RATINGS.map(
        (rating) =>
          html`<label class="check"
            ><input type="radio" name="rating" value="${rating}" />${NAMES[rating]}</label
          >`,
      )}
      <label class="check"><input type="radio" name="rating" value="" checked />Not rated</label>
    </fieldset>
    <label for="note">Note</label>
    <textarea id="note" name="note" rows="2" maxlength="${TRACE_NOTE_MAX}"></textarea>
    <p class="pair">
      <button class="button">Add</button>
      <span class="hint">Everybody in ${session.organization} sees it.</span>
    </p>
  </form>`

/** What people say of a trace in a few words, for lists. */
export function opinionText(counted: {
  readonly good: number
  readonly bad: number
  readonly notes: number
}): string {
  const { good, bad, notes } = counted
  return [
    good > 0 ? `${good} good` : '',
    bad > 0 ? `${bad} bad` : '',
    notes > 0 ? plural(notes, 'note') : '',
  ]
    .filter((part) => part !== '')
    .join(' · ')
}
