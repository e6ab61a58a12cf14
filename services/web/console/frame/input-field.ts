import { html } from 'hono/html'
import type { InputField } from '../../../platform/crew-inputs.ts'
import type { Html } from './parts.ts'

/** The field of a form for one input of a crew, with what was typed before. */
export function inputField(field: InputField, typed: string | undefined): Html {
  const { name, label, description } = field
  return html`<label
    ><span class="${label === undefined ? 'mono' : ''}">${label ?? name}</span>
    ${control(field, typed ?? textOf(field.default))}
    ${description ? html`<span class="hint">${description}</span>` : ''}
  </label>`
}

function control({ name, type, required }: InputField, value: string): Html {
  const isRequired = required ? 'required' : ''
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
  if (type === 'boolean') {
    const choices = required ? ['true', 'false'] : ['', 'true', 'false']
    return html`<select name="input.${name}">
      ${choices.map(
        (choice) =>
          html`<option value="${choice}" ${choice === value ? 'selected' : ''}>
            ${choice === 'true' ? 'Yes' : choice === 'false' ? 'No' : '–'}
          </option>`,
      )}
    </select>`
  }
  return html`<textarea name="input.${name}" rows="2" ${isRequired}>${value}</textarea>`
}

const textOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
