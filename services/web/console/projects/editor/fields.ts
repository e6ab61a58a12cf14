import { html } from 'hono/html'
import type { Html } from '../../frame/parts.ts'
import type { Marks } from './marks.ts'

/** A field of a line. */
interface Field {
  readonly label: string
  readonly value: string
  readonly isMono?: boolean
  readonly placeholder?: string
}

/** A field of several lines. */
interface Area extends Field {
  readonly rows?: number
}

/** Something to tick. */
export interface Tick {
  readonly value: string
  readonly text: Html | string
  readonly isOn: boolean
  /** What is shown below it. */
  readonly more?: Html
}

interface Ticks {
  readonly label: string
  readonly all: readonly Tick[]
  /** @default any number of them */
  readonly type?: 'checkbox' | 'radio'
}

interface Options {
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
  /** What is shown of an option. @default the option */
  readonly textOf?: (option: string) => string
}

interface Card {
  /** `agents.0`. */
  readonly at: string
  readonly title: string
  /** What it is about, in a line. */
  readonly about: string
  readonly isOpen: boolean
}

const isMarked = (marks: Marks, name: string): Html | string =>
  name in marks ? html`aria-invalid="true"` : ''

/** Where it is said what is wrong with a field, or with a whole entry. */
const mark = (marks: Marks, name: string): Html =>
  html`<span class="field-problem" data-mark="${name}">${marks[name] ?? ''}</span>`

/** A line to type in. */
export const line = (
  marks: Marks,
  name: string,
  { label, value, isMono = false, placeholder = '' }: Field,
): Html =>
  html`<label
    >${label}
    <input
      name="${name}"
      value="${value}"
      class="${isMono ? 'mono' : ''}"
      placeholder="${placeholder}"
      autocomplete="off"
      ${isMarked(marks, name)}
    />
    ${mark(marks, name)}
  </label>`

/** Lines to type in. */
export const area = (
  marks: Marks,
  name: string,
  { label, value, isMono = false, placeholder = '', rows = 2 }: Area,
): Html =>
  html`<label
    >${label}
    <textarea
      name="${name}"
      rows="${rows}"
      class="${isMono ? 'mono' : ''}"
      placeholder="${placeholder}"
      ${isMono ? html`spellcheck="false"` : ''}
      ${isMarked(marks, name)}
    >
${value}</textarea>
    ${mark(marks, name)}
  </label>`

/** One thing to tick. */
export const tick = (name: string, label: string, isOn: boolean): Html =>
  html`<label class="tick">
    <input type="checkbox" name="${name}" ${isOn ? html`checked` : ''} />
    ${label}
  </label>`

/** Things of which one, or any number, is ticked. */
export const ticks = (marks: Marks, name: string, { label, all, type = 'checkbox' }: Ticks): Html =>
  html`<fieldset class="choices">
    <legend>${label}</legend>
    ${all.map(
      ({ value, text, isOn, more: below = '' }) =>
        html`<label class="choice">
            <input type="${type}" name="${name}" value="${value}" ${isOn ? html`checked` : ''} />
            <span>${text}</span> </label
          >${below}`,
    )}
    ${mark(marks, name)}
  </fieldset>`

/** A value that is not among the options is one all the same, until it is changed. */
export const select = (
  marks: Marks,
  name: string,
  { label, value, options, textOf = (option) => option }: Options,
): Html =>
  html`<label
    >${label}
    <select name="${name}" ${isMarked(marks, name)}>
      ${[...new Set(['', ...options, value])].map(
        (each) =>
          html`<option value="${each}" ${each === value ? html`selected` : ''}>
            ${each === '' ? 'Not set' : textOf(each)}
          </option>`,
      )}
    </select>
    ${mark(marks, name)}
  </label>`

/** An entry of a list, as a card of which one is open at a time. */
export function card(marks: Marks, { at, title, about, isOpen }: Card, content: Html): Html {
  const wrong = Object.keys(marks).filter((name) => name === at || name.startsWith(`${at}.`)).length
  return html`<details
    class="editor-entry"
    name="entry"
    data-fold="${at}"
    ${isOpen ? html`open` : ''}
  >
    <summary>
      <span class="mono">${title}</span>
      <span class="hint">${about}</span>
      <span class="pill bad" data-count="${at}" ${wrong === 0 ? html`hidden` : ''}>${wrong}</span>
    </summary>
    <div class="stack">${mark(marks, at)} ${content}</div>
  </details>`
}

/** Fields that few need. */
export const more = (at: string, content: Html): Html =>
  html`<details class="more" data-fold="${at}.more">
    <summary>More</summary>
    <div class="stack">${content}</div>
  </details>`

/** A button that changes the form alone. */
export const act = (action: string, text: string, of?: string): Html =>
  html`<button
    class="button small"
    name="act"
    value="${action}"
    formnovalidate
    ${of === undefined ? '' : html`aria-label="${text} ${of}"`}
  >
    ${text}
  </button>`
