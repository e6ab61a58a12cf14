import { html } from 'hono/html'
import * as v from 'valibot'
import type { AskedCall } from '../../../platform/runs/run-approvals.ts'
import { dictionary } from '../../../shared/dictionary.ts'
import { askedForm } from '../../../shared/mcp/elicitation.ts'
import type { AskedField } from '../../../shared/mcp/elicitation.ts'
import type { Html } from './parts.ts'
import { foreignText } from './text/foreign-text.ts'
import { hasInvisible, visibleText } from './text/visible-text.ts'

/** What a crew hands over of a question is checked again: it may be any program. */
const answers = v.object({ properties: dictionary(v.string(), askedForm) })

interface FormField {
  /** Its name in the form: keys of servers may be anything. */
  readonly name: string
  readonly key: string
  readonly field: AskedField
  readonly isRequired: boolean
}

/** Returns what is asked, with its fields; undefined where they cannot be shown. */
function questionsOf({ parameters, question }: AskedCall) {
  const read = v.safeParse(answers, parameters)
  if (!read.success) return undefined
  // A key may be any word, such as one that all objects inherit.
  const messages = new Map(Object.entries(question?.messages ?? {}))
  return Object.entries(read.output.properties).map(([key, { properties, required }], at) => ({
    key,
    message: messages.get(key) ?? '',
    fields: Object.entries(properties).map(([name, field], place): FormField => ({
      name: `answer.${at}.${place}`,
      key: name,
      field,
      isRequired: required.includes(name),
    })),
  }))
}

/** Returns what a person answered, as JSON by the keys of the questions. */
export function readAnswers(call: AskedCall, form: URLSearchParams): string {
  const given = (questionsOf(call) ?? []).map(({ key, fields }) => {
    const values = fields.map((each) => [each.key, valueOf(each, form)] as const)
    return [key, Object.fromEntries(values.filter(([, value]) => value !== undefined))] as const
  })
  return JSON.stringify(Object.fromEntries(given))
}

function valueOf({ name, field }: FormField, form: URLSearchParams): unknown {
  if (field.type === 'boolean') return form.has(name)
  const choices = choicesOf(field)
  if (field.type === 'array') return form.getAll(name).map((at) => choices[Number(at)]?.value ?? at)
  // Browsers end the lines of a text with CR LF.
  const text = (form.get(name) ?? '').replaceAll('\r\n', '\n')
  if (text === '') return undefined
  if (field.type === 'string') return choices[Number(text)]?.value ?? text
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? text : number
}

/** The questions of a server with their fields; undefined where those cannot be shown. */
export const questionFields = (call: AskedCall): Html[] | undefined =>
  questionsOf(call)?.map(
    ({ message, fields }) =>
      html`${foreignText(message, 'Question', 'text')} ${fields.map(fieldView)}`,
  )

function fieldView(one: FormField): Html {
  const { name, key, field, isRequired } = one
  const label = visibleText(field.title ?? key)
  const hint = field.description
    ? html`<span class="hint">${visibleText(field.description)}</span>`
    : ''
  if (field.type === 'boolean') {
    return html`<label class="tick">
      <input type="checkbox" name="${name}" value="true" ${field.default ? 'checked' : ''} />
      <span>${label} ${hint}</span>
    </label>`
  }
  if (field.type === 'array') {
    return html`<fieldset class="choices">
      <legend>${label} ${hint}</legend>
      ${choicesOf(field).map(
        ({ value, text }, at) =>
          html`<label class="choice">
            <input
              type="checkbox"
              name="${name}"
              value="${at}"
              ${field.default?.includes(value) ? 'checked' : ''}
            />
            <span>${text}</span>
          </label>`,
      )}
    </fieldset>`
  }
  const optional = isRequired ? '' : html`<span class="quiet">(optional)</span>`
  return html`<label>${label} ${optional} ${control(one)} ${hint}</label>`
}

function control({ name, field, isRequired }: FormField): Html {
  const required = isRequired ? 'required' : ''
  if (field.type === 'number' || field.type === 'integer') {
    return html`<input
      type="number"
      name="${name}"
      step="${field.type === 'integer' ? '1' : 'any'}"
      ${attribute('min', field.minimum)}
      ${attribute('max', field.maximum)}
      value="${field.default ?? ''}"
      ${required}
    />`
  }
  if (field.type !== 'string') return html``
  const choices = choicesOf(field)
  const { format, minLength, maxLength, default: value = '' } = field
  // A person sees all that is sent.
  const typed = hasInvisible(value) ? '' : value
  if (choices.length > 0) {
    return html`<select name="${name}" ${required}>
      <option value="">–</option>
      ${choices.map(
        (each, at) =>
          html`<option value="${at}" ${each.value === value ? 'selected' : ''}>
            ${each.text}
          </option>`,
      )}
    </select>`
  }
  const limits = html`${attribute('minlength', minLength)} ${attribute('maxlength', maxLength)}`
  if (format === undefined) {
    return html`<textarea name="${name}" rows="2" ${limits} ${required}>${typed}</textarea>`
  }
  return html`<input
    type="${INPUT_TYPES[format]}"
    name="${name}"
    ${format === 'date-time' ? html`placeholder="2026-07-28T09:00:00Z"` : ''}
    ${limits}
    value="${typed}"
    ${required}
  />`
}

const INPUT_TYPES = { email: 'email', uri: 'url', date: 'date', 'date-time': 'text' } as const

const attribute = (name: string, value: number | undefined): Html | string =>
  value === undefined ? '' : html`${name}="${value}"`

/** The choices of a field, which the form knows by their places; none for a text. */
function choicesOf(field: AskedField): readonly { value: string; text: string }[] {
  if (field.type !== 'string' && field.type !== 'array') return []
  const own = field.type === 'string' ? field : field.items
  const titled = 'anyOf' in own ? own.anyOf : 'oneOf' in own ? own.oneOf : undefined
  if (titled) {
    return titled.map(({ const: value, title }) => ({ value, text: visibleText(title ?? value) }))
  }
  const named = 'enum' in own ? (own.enum ?? []) : []
  const titles = 'enumNames' in own ? own.enumNames : undefined
  return named.map((value, at) => ({ value, text: visibleText(titles?.[at] ?? value) }))
}
