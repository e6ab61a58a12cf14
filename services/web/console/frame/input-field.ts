import { html } from 'hono/html'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { fileIdOf } from '../../../platform/definitions/input-declarations.ts'
import { inputText } from '../../../platform/definitions/input-text.ts'
import { DOCUMENTS } from '../../../shared/documents/document-types.ts'
import { isObject } from '../../../shared/is-object.ts'
import { byteSize } from './format.ts'
import type { Html } from './parts.ts'

/** The field of a form for one input of a crew, with what was typed before. */
export function inputField(field: InputField, typed: string | undefined): Html {
  const { name, label, description } = field
  return html`<label
    ><span class="${label === undefined ? 'mono' : ''}">${label ?? name}</span>
    ${control(field, typed ?? (field.default === undefined ? '' : inputText(field.default)))}
    ${description ? html`<span class="hint">${description}</span>` : ''}
  </label>`
}

function control(field: InputField, value: string): Html {
  const { name, type, required, enum: values } = field
  const isRequired = required ? 'required' : ''
  if (type === 'file') return fileField(field, value)
  const choices = values ?? (type === 'boolean' ? [true, false] : undefined)
  if (choices) return choiceField(field, choices, value)
  if (type === 'number' || type === 'integer') {
    const step = type === 'integer' ? '1' : 'any'
    return html`<input
      type="number"
      step="${step}"
      name="input.${name}"
      value="${value}"
      ${isRequired}
    />`
  }
  return html`<textarea name="input.${name}" rows="2" ${isRequired}>${value}</textarea>`
}

/** A file that was sent before, or with an earlier run, is kept unless another one is chosen. */
function fileField({ name, required }: InputField, value: string): Html {
  const kept = value === '' ? undefined : describeFile(value)
  return html`<input
      type="file"
      name="input.${name}"
      ${required && kept === undefined ? 'required' : ''}
    />
    <span class="hint">Text, ${DOCUMENTS}, or an image.</span>
    ${
      kept === undefined
        ? ''
        : html`<input type="hidden" name="input.${name}" value="${value}" />
            <span class="hint">${kept} is kept unless you choose another file.</span>`
    }`
}

function describeFile(text: string): string {
  try {
    return fileText(JSON.parse(text)) ?? text
  } catch {
    return text
  }
}

/** Returns the name of a file that an input holds, with its size; undefined for anything else. */
export function fileText(value: unknown): string | undefined {
  if (!isObject(value) || fileIdOf(value) === undefined) return undefined
  const { name, size } = value
  if (typeof name !== 'string') return undefined
  return typeof size === 'number' ? `${name}, ${byteSize(size)}` : name
}

/** Returns how a form with these fields is sent: files need another way than texts. */
export const formType = (fields: readonly InputField[]): string =>
  fields.some(({ type }) => type === 'file')
    ? 'multipart/form-data'
    : 'application/x-www-form-urlencoded'

/** What was typed before may be none of the choices any more: then nothing is chosen. */
function choiceField(
  { name, required }: InputField,
  choices: readonly unknown[],
  value: string,
): Html {
  const texts = choices.map(inputText)
  const isChosen = texts.includes(value)
  const empty = html`<option value="" ${isChosen ? '' : 'selected'}>–</option>`
  return html`<select name="input.${name}" ${required ? 'required' : ''}>
    ${required && isChosen ? '' : empty}
    ${texts.map(
      (text, index) =>
        html`<option value="${text}" ${text === value ? 'selected' : ''}>
          ${labelOf(choices[index])}
        </option>`,
    )}
  </select>`
}

const labelOf = (choice: unknown): string =>
  choice === true ? 'Yes' : choice === false ? 'No' : inputText(choice)
