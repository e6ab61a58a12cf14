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

interface TextOptions {
  /** The longest text, in characters. */
  readonly max: number
  readonly isMono?: true
  readonly isOptional?: true
  readonly type?: 'url'
}

const hintOf = ({ hint }: Shown): Html | string =>
  hint === undefined ? '' : html`<span class="field-hint">${hint}</span>`

const placeholderOf = ({ example }: Shown): Html | string =>
  typeof example === 'string' ? html`placeholder="${example}"` : ''

const OPTIONAL = html`<span class="quiet">(optional)</span>`

/** A line of text. Spaces around it are not part of it. */
export const text = ({ max, isMono, isOptional, type }: TextOptions): Control => ({
  render: (field, typed) =>
    html`<label
      >${field.label} ${isOptional ? OPTIONAL : ''}
      <input
        ${isMono ? html`class="mono"` : ''}
        name="${field.name}"
        ${type ? html`type="${type}"` : ''}
        value="${typed.get(field.name) ?? ''}"
        ${placeholderOf(field)}
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
      }
      ${hintOf(field)}
    </label>`,
  read: (typed, name) => (typed.get(name) ?? '').trim() || (isOptional ? undefined : ''),
  write: (name, value) => [[name, String(value)]],
})

/** A text that is entered and never shown again. An empty field leaves the one that is there. */
export const secret = ({ max }: Pick<TextOptions, 'max'>): Control => ({
  isSecret: true,
  render: (field) =>
    html`<label
      >${field.label} ${OPTIONAL}
      <input name="${field.name}" type="password" maxlength="${max}" autocomplete="new-password" />
      ${hintOf(field)}
    </label>`,
  read: (typed, name) => typed.get(name) || undefined,
  write: () => [],
})

/** A whole number; null where none is typed. */
export const number = ({ max }: Pick<TextOptions, 'max'>): Control => ({
  render: (field, typed) =>
    html`<label
      >${field.label}
      <input
        type="number"
        min="1"
        max="${max}"
        name="${field.name}"
        value="${typed.get(field.name) ?? ''}"
      />
      ${hintOf(field)}
    </label>`,
  read: (typed, name) => {
    const given = (typed.get(name) ?? '').trim()
    if (given === '') return null
    return /^\d{1,15}$/.test(given) ? Number(given) : given
  },
  write: (name, value) => [[name, String(value)]],
})

/** One of several values, each with its text. */
export const choice = (options: Readonly<Record<string, string>>): Control => ({
  render: (field, typed) =>
    html`<label
      >${field.label}
      <select name="${field.name}">
        ${Object.entries(options).map(
          ([value, words]) =>
            html`<option value="${value}" ${value === typed.get(field.name) ? 'selected' : ''}>
              ${words}
            </option>`,
        )}
      </select>
      ${hintOf(field)}
    </label>`,
  read: (typed, name) => typed.get(name) ?? undefined,
  write: (name, value) => [[name, String(value)]],
})

/** JSON. What cannot be read as JSON stays text, so that the schema refuses it. */
export const json = ({ rows }: { readonly rows: number }): Control => ({
  render: (field, typed) => {
    const given = typed.get(field.name) ?? ''
    return html`<label
      >${field.label}
      <textarea class="mono" name="${field.name}" rows="${rows}" spellcheck="false">
${given}</textarea>
      ${hintOf(field)}
    </label>`
  },
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

const WORDS_LENGTH_MAX = 2500

/** Several words in a line, with spaces or commas between them. */
export const words: Control = {
  render: (field, typed) =>
    html`<label
      >${field.label} ${OPTIONAL}
      <input
        name="${field.name}"
        class="mono"
        value="${typed.get(field.name) ?? ''}"
        maxlength="${WORDS_LENGTH_MAX}"
        ${placeholderOf(field)}
        autocomplete="off"
      />
      ${hintOf(field)}
    </label>`,
  read: (typed, name) => wordsOf(typed.get(name) ?? ''),
  write: (name, value) => [[name, Array.isArray(value) ? value.join(' ') : String(value)]],
}

const wordsOf = (typed: string): string[] => typed.split(/[\s,]+/).filter(Boolean)

/** Several words: boxes to tick, and a field for those that have none. */
export function ticks({ box, options, others }: TicksOptions): Control {
  const offered = Object.keys(options)
  return {
    render: ({ label }, typed) =>
      html`<fieldset>
          <legend>${label}</legend>
          <div class="ticks">
            ${Object.entries(options).map(
              ([value, words]) =>
                html`<label class="tick"
                  ><input
                    type="checkbox"
                    name="${box}"
                    value="${value}"
                    ${typed.getAll(box).includes(value) ? 'checked' : ''}
                  />
                  ${words}</label
                >`,
            )}
          </div>
        </fieldset>
        ${others ? words.render(others, typed) : ''}`,
    read: (typed) => [
      ...offered.filter((value) => typed.getAll(box).includes(value)),
      ...(others ? wordsOf(typed.get(others.name) ?? '') : []),
    ],
    write: (_, value) => {
      const given = Array.isArray(value) ? value.map(String) : []
      const ticked = given.filter((word) => offered.includes(word))
      const rest = given.filter((word) => !offered.includes(word))
      return [
        ...ticked.map((word) => [box, word] as const),
        ...(others ? [[others.name, rest.join(' ')] as const] : []),
      ]
    },
  }
}
