import { html } from 'hono/html'
import { AppError } from '../../shared/errors.ts'
import { parseStrictJson } from '../../shared/http/strict-json.ts'
import type { Html } from '../console/frame/parts.ts'

/** A field as its control shows it. */
export interface Shown {
  readonly name: string
  readonly label: string
  readonly hint?: string | undefined
  readonly example?: unknown
  /** What is likely to be typed. */
  readonly suggested?: readonly string[] | undefined
}

/** What people enter a value with, in a form that works without JavaScript. */
export interface Control {
  /** Never shown or answered; recorded only by the `facts` of its field. */
  readonly isSecret?: true
  render(field: Shown, typed: URLSearchParams): Html
  /** Returns the value that was typed, for the schema to judge; undefined for none. */
  read(typed: URLSearchParams, name: string): unknown
  /** Returns a value as it would have been typed. */
  write(name: string, value: unknown): readonly (readonly [string, string])[]
}

interface NumberOptions extends Pick<TextOptions, 'min' | 'max' | 'isOptional'> {
  readonly decimals?: number
}

interface TextOptions {
  /** The longest text, in characters; or the largest number. */
  readonly max: number
  readonly min?: number
  readonly isMono?: true
  readonly isOptional?: true
  readonly type?: 'url'
}

/** What a value is entered with, between the label and the hint of its field. */
const labelled = ({ label, hint }: Shown, input: Html, isOptional = false): Html =>
  html`<label
    >${label} ${isOptional ? html`<span class="quiet">(optional)</span>` : ''} ${input}
    ${hint === undefined ? '' : html`<span class="field-hint">${hint}</span>`}
  </label>`

const write: Control['write'] = (name, value) => [[name, String(value)]]

/** Several texts in one field. */
const joined = (between: string, pattern: RegExp): Pick<Control, 'read' | 'write'> => ({
  read: (typed, name) =>
    (typed.get(name) ?? '')
      .split(pattern)
      .map((each) => each.trim())
      .filter(Boolean),
  write: (name, value) => [[name, Array.isArray(value) ? value.join(between) : String(value)]],
})

/** A line of text. Spaces around it are not part of it. */
export const text = ({ max, isMono, isOptional, type }: TextOptions): Control => ({
  render: (field, typed) =>
    labelled(
      field,
      html`<input
          ${isMono ? html`class="mono"` : ''}
          name="${field.name}"
          ${type ? html`type="${type}"` : ''}
          value="${typed.get(field.name) ?? ''}"
          ${typeof field.example === 'string' ? html`placeholder="${field.example}"` : ''}
          maxlength="${max}"
          ${field.suggested ? html`list="suggested-${field.name}"` : ''}
          ${isOptional ? '' : 'required'}
          autocomplete="off"
        />
        ${
          field.suggested
            ? html`<datalist id="suggested-${field.name}">
                ${field.suggested.map((each) => html`<option value="${each}"></option>`)}
              </datalist>`
            : ''
        }`,
      isOptional,
    ),
  read: (typed, name) => (typed.get(name) ?? '').trim() || (isOptional ? undefined : ''),
  write,
})

/** A text that is entered and never shown again. An empty field leaves the one that is there. */
export const secret = ({ max }: Pick<TextOptions, 'max'>): Control => ({
  isSecret: true,
  render: (field) => {
    const more = html`maxlength="${max}" autocomplete="new-password"`
    return labelled(field, html`<input name="${field.name}" type="password" ${more} />`, true)
  },
  read: (typed, name) => typed.get(name) || undefined,
  write: () => [],
})

/**
 * A whole number from 1, or from another one, or one above 0 with decimals; null where none is
 * typed.
 */
export const number = ({ min = 1, max, decimals = 0, isOptional }: NumberOptions): Control => ({
  render: (field, typed) => {
    const value = html`name="${field.name}" value="${typed.get(field.name) ?? ''}"`
    const step = (10 ** -decimals).toFixed(decimals)
    const range = html`min="${decimals > 0 ? step : min}" max="${max}" step="${step}"`
    return labelled(field, html`<input type="number" ${range} ${value} />`, isOptional)
  },
  read: (typed, name) => {
    const given = (typed.get(name) ?? '').trim()
    if (given === '') return null
    const pattern = decimals > 0 ? /^\d{1,15}(\.\d+)?$/ : /^\d{1,15}$/
    return pattern.test(given) ? Number(given) : given
  },
  write,
})

/** One of several values, each with its text. One that is not offered stays in a form. */
export const choice = (options: Readonly<Record<string, string>>): Control => ({
  render(field, typed) {
    const chosen = typed.get(field.name) ?? ''
    const others = chosen === '' || Object.hasOwn(options, chosen) ? {} : { [chosen]: chosen }
    return labelled(
      field,
      html`<select name="${field.name}">
        ${Object.entries({ ...options, ...others }).map(
          ([value, words]) =>
            html`<option value="${value}" ${value === chosen && 'selected'}>${words}</option>`,
        )}
      </select>`,
    )
  },
  read: (typed, name) => typed.get(name) ?? undefined,
  write,
})

const area = (rows: number): Pick<Control, 'render'> => ({
  render: (field, typed) =>
    labelled(
      field,
      html`<textarea class="mono" name="${field.name}" rows="${rows}" spellcheck="false">
${typed.get(field.name) ?? ''}</textarea>`,
    ),
})

/** Several texts, one on each line. Spaces around them are not part of them. */
export const lines = ({ rows }: { readonly rows: number }): Control => ({
  ...area(rows),
  ...joined('\n', /[\r\n]/),
})

/** JSON. What cannot be read as JSON stays text, so that the schema refuses it. */
export const json = ({ rows }: { readonly rows: number }): Control => ({
  ...area(rows),
  read: (typed, name) => {
    const given = (typed.get(name) ?? '').trim()
    return given === '' ? undefined : readJson(given)
  },
  write: (name, value) => [[name, JSON.stringify(value, null, 2)]],
})

function readJson(given: string): unknown {
  try {
    return parseStrictJson(Buffer.from(given), 'The field')
  } catch (thrown) {
    if (thrown instanceof AppError) return given
    throw thrown
  }
}

interface TicksOptions {
  /** The name of each box in the form. */
  readonly box: string
  readonly options: Readonly<Record<string, string>>
  /** The field for values that have no box: its name in the form, its label, and an example. */
  readonly others?: { readonly name: string; readonly label: string; readonly example: string }
}

/** Several words in a line, with spaces or commas between them. */
export const words: Control = {
  ...text({ max: 2500, isMono: true, isOptional: true }),
  ...joined(' ', /[\s,]/),
}

const box = (name: string, value: string, isTicked: boolean) =>
  html`<input type="checkbox" name="${name}" value="${value}" ${isTicked ? 'checked' : ''} />`

/** Yes or no: a box to tick. */
export const tick: Control = {
  render: ({ name, label, hint = '' }, typed) =>
    html`<div class="ticked">
      <label class="tick">${box(name, 'yes', typed.has(name))} ${label}</label>
      <span class="field-hint">${hint}</span>
    </div>`,
  read: (typed, name) => typed.has(name),
  write: (name, value) => (value === true ? [[name, 'yes']] : []),
}

/** Several words: boxes to tick, and a field for those that have none. */
export function ticks({ box: name, options, others }: TicksOptions): Control {
  const offered = Object.keys(options)
  return {
    render: ({ label }, typed) =>
      html`<fieldset>
          <legend>${label}</legend>
          <div class="ticks">
            ${Object.entries(options).map(
              ([value, words]) =>
                html`<label class="tick"
                  >${box(name, value, typed.getAll(name).includes(value))} ${words}</label
                >`,
            )}
          </div>
        </fieldset>
        ${others ? words.render(others, typed) : ''}`,
    read(typed) {
      const rest: unknown = others ? words.read(typed, others.name) : []
      const ticked = offered.filter((value) => typed.getAll(name).includes(value))
      return Array.isArray(rest) ? [...ticked, ...rest] : ticked
    },
    write(_, value) {
      const given = Array.isArray(value) ? value.map(String) : []
      const ticked = given.filter((word) => offered.includes(word))
      const rest = given.filter((word) => !offered.includes(word))
      return [
        ...ticked.map((word) => [name, word] as const),
        ...(others ? words.write(others.name, rest) : []),
      ]
    },
  }
}
