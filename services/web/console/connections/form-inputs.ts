import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Html } from '../frame/parts.ts'
import type { FieldName, FieldProblems, TypedConnection } from './form.ts'
import type { TextName } from './texts.ts'

/** The form of a connection, with what was typed and what is wrong with it. */
export interface ConnectionForm {
  readonly session: Session
  readonly action: string
  readonly verb: string
  readonly typed: TypedConnection
  readonly problems: FieldProblems
  /** It is there already: its name stays, and its secrets may be left out. */
  readonly isSaved: boolean
  readonly hasSecret: boolean
  /** The address that providers send browsers back to, where it is known. */
  readonly callbackUrl: string | undefined
}

/** A field of text, with its label and a hint. */
interface TextField {
  readonly name: TextName
  readonly label: string
  readonly hint?: string | undefined
  readonly type?: 'url'
  readonly maxLength?: number
  readonly isRequired?: boolean
}

/** A line of text. */
export function textField(form: ConnectionForm, field: TextField): Html {
  const { name, label, hint, type = 'text', maxLength = 2000, isRequired = false } = field
  const value = form.typed.texts[name]
  const input = html`<label
    >${label} ${isRequired ? '' : html`<span class="quiet">(optional)</span>`}
    <input
      name="${name}"
      type="${type}"
      class="${name === 'name' ? '' : 'mono'}"
      value="${value}"
      maxlength="${maxLength}"
      autocomplete="off"
      spellcheck="false"
      ${marks(form, name, hint)}
      ${isRequired ? html`required` : ''}
    />
  </label>`
  return described(form, { name, field: input, hint })
}

/** Several lines of text. */
export function areaField(form: ConnectionForm, { name, label, hint }: TextField): Html {
  const value = form.typed.texts[name]
  const input = html`<label
    >${label} <span class="quiet">(optional)</span>
    <textarea
      name="${name}"
      class="mono"
      rows="${Math.min(6, Math.max(2, value.split('\n').length))}"
      spellcheck="false"
      ${marks(form, name, hint)}
    >
${value}</textarea>
  </label>`
  return described(form, { name, field: input, hint })
}

interface SecretField {
  readonly name: 'token' | 'client_secret'
  readonly label: string
}

/** The token of a connection that has one of its own. */
export const TOKEN: SecretField = { name: 'token', label: 'Token' }
/** The secret of the client of a connection. */
export const CLIENT_SECRET: SecretField = { name: 'client_secret', label: 'Client secret' }

/** A secret is never shown: neither its value, nor its end, nor its length. */
export function secretField(form: ConnectionForm, { name, label }: SecretField): Html {
  const hint = 'Stored encrypted and never shown again.'
  const isStored = form.isSaved && (name === 'token' || form.hasSecret)
  const input = html`<label
    >${label}
    <input
      name="${name}"
      type="password"
      class="mono"
      value=""
      maxlength="8192"
      placeholder="${isStored ? 'One is stored. Type a new one to replace it' : ''}"
      autocomplete="new-password"
      spellcheck="false"
      ${marks(form, name, hint)}
      ${name === 'token' && !isStored ? html`required` : ''}
    />
  </label>`
  return described(form, { name, field: input, hint })
}

/** The attributes that tie a field to its problem and its hint. */
export function marks({ problems }: ConnectionForm, name: FieldName, hint?: string): Html {
  const isWrong = problems[name] !== undefined
  const ids = [...(isWrong ? [`${name}-problem`] : []), ...(hint ? [`${name}-hint`] : [])]
  return html`${isWrong ? html`aria-invalid="true"` : ''}
  ${ids.length > 0 ? html`aria-describedby="${ids.join(' ')}"` : ''}`
}

interface Described {
  readonly name: FieldName
  readonly field: Html
  readonly hint?: string | undefined
}

/** A field with its problem and its hint, which describe it without being part of its name. */
export function described({ problems }: ConnectionForm, { name, field, hint }: Described): Html {
  const problem = problems[name]
  return html`<div>
    ${field} ${problem ? html`<p class="field-problem" id="${name}-problem">${problem}</p>` : ''}
    ${hint ? html`<span class="field-hint" id="${name}-hint">${hint}</span>` : ''}
  </div>`
}
