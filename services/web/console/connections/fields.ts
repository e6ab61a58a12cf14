import { html } from 'hono/html'
import { AUTH_METHODS } from '../../../platform/connections/oauth-connections.ts'
import type { AuthMethod } from '../../../platform/connections/oauth-connections.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { copyable, csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import type { FieldName, FieldProblems, TypedConnection } from './form.ts'
import { findShape } from './shapes.ts'
import type { TextName } from './texts.ts'

/** The form of a connection, with what was typed and what is wrong with it. */
interface ConnectionForm {
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

/** The form of a connection. */
export function connectionForm(form: ConnectionForm): Html {
  const { session, action, verb, typed, isSaved } = form
  const { provider, kind } = typed
  return html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    ${isSaved ? '' : html`<input type="hidden" name="provider" value="${provider}" />`}
    ${isSaved || kind !== null ? '' : html`<input type="hidden" name="operator" value="yes" />`}
    ${isSaved ? '' : nameField(form)} ${kind === 'static_token' ? tokenFields(form) : ''}
    ${kind === 'static_token' || kind === null ? '' : clientFields(form)} ${placesField(form)}
    ${kind === null ? '' : testField(form)}
    <div><button class="button primary">${verb}</button></div>
  </form>`
}

const nameField = (form: ConnectionForm): Html =>
  textField(form, {
    name: 'name',
    label: 'Name',
    maxLength: 64,
    isRequired: true,
    hint: 'Tools name the connection by it. It stays as it is.',
  })

const placesField = (form: ConnectionForm): Html =>
  areaField(form, {
    name: 'hosts',
    label: 'Places that may get the token',
    hint:
      'One on each line: hosts such as api.example.com or *.example.com, or beginnings of URLs. ' +
      'Without any, the token goes wherever a tool of your organization calls.',
  })

const testField = (form: ConnectionForm): Html =>
  textField(form, {
    name: 'test_url',
    label: 'Test address',
    type: 'url',
    hint: 'Gets the token by a GET when you press Test, and should answer 2xx while it is good.',
  })

function tokenFields(form: ConnectionForm): Html {
  return html`${secretField(form, TOKEN)}
    <details class="more" ${isOpen(form, ['header', 'prefix'])}>
      <summary>How it is sent</summary>
      <div class="stack">
        ${textField(form, {
          name: 'header',
          label: 'Header',
          hint: 'Authorization, or what the API asks for, such as X-API-Key.',
        })}
        ${textField(form, {
          name: 'prefix',
          label: 'Word before the token',
          hint: 'Bearer for most; some want token or Basic, others none.',
        })}
      </div>
    </details>`
}

function clientFields(form: ConnectionForm): Html {
  const { kind, provider } = form.typed
  const isForItself = kind === 'client_credentials'
  const { registration, asks = ADDRESSES } = findShape(provider) ?? {}
  return html`${isForItself ? '' : redirectUri(form.callbackUrl, registration)}
    ${addressFields(form, (name) => asks.includes(name))}
    ${textField(form, { name: 'client_id', label: 'Client ID', isRequired: true })}
    ${secretField(form, CLIENT_SECRET)}
    ${textField(form, {
      name: 'scopes',
      label: 'Scopes',
      hint: 'With spaces between. Ask for no more than the tools need.',
    })}
    <details class="more" ${isOpen(form, DETAILS)}>
      <summary>Addresses and details</summary>
      <div class="stack">
        ${addressFields(form, (name) => !asks.includes(name))} ${methodField(form)}
        ${areaField(form, {
          name: 'parameters',
          label: 'More parameters',
          hint: isForItself
            ? 'Of the token request, one on each line, such as audience=https://api.example.com'
            : 'Of the authorization request, one on each line, such as prompt=consent',
        })}
      </div>
    </details>`
}

const ADDRESSES: readonly TextName[] = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
]

const DETAILS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'token_endpoint_auth_method',
  'parameters',
] as const

/** Whatever is wrong must be seen. */
const isOpen = ({ problems }: ConnectionForm, fields: readonly FieldName[]): Html | string =>
  fields.some((field) => problems[field] !== undefined) ? html`open` : ''

function redirectUri(url: string | undefined, registration: string | undefined): Html | string {
  if (url === undefined) return ''
  return html`<div>
    <p class="hint">
      Register a client at the
      provider${
        registration
          ? html` (<a href="${registration}" rel="noreferrer" target="_blank"
                >${new URL(registration).host}</a
              >)`
          : ''
      },
      with this redirect URI:
    </p>
    ${copyable('Redirect URI', url)}
  </div>`
}

const ADDRESS_LABELS: Readonly<Partial<Record<TextName, string>>> = {
  issuer: 'Issuer',
  authorization_endpoint: 'Authorization endpoint',
  token_endpoint: 'Token endpoint',
  revocation_endpoint: 'Revocation endpoint',
}

/** The addresses of a provider, those that are chosen. */
function addressFields(form: ConnectionForm, isChosen: (name: TextName) => boolean): Html {
  const isForItself = form.typed.kind === 'client_credentials'
  const shown = ADDRESSES.filter(isChosen).filter(
    (name) => !(isForItself && name === 'authorization_endpoint'),
  )
  return html`${shown.map((name) =>
    textField(form, {
      name,
      label: ADDRESS_LABELS[name] ?? name,
      type: 'url',
      hint:
        name === 'issuer' ? 'Endpoints that are not entered are discovered from here.' : undefined,
    }),
  )}`
}

const METHOD_NAMES = {
  client_secret_basic: 'Secret in the header (client_secret_basic)',
  client_secret_post: 'Secret in the body (client_secret_post)',
  none: 'None: a public client with PKCE',
} as const satisfies Record<AuthMethod, string>

function methodField(form: ConnectionForm): Html {
  const { token_endpoint_auth_method: chosen } = form.typed.texts
  const name = 'token_endpoint_auth_method'
  const field = html`<label
    >Authentication of the client
    <select name="${name}" ${marks(form, name)}>
      ${AUTH_METHODS.map(
        (method) =>
          html`<option value="${method}" ${method === chosen ? html`selected` : ''}>
            ${METHOD_NAMES[method]}
          </option>`,
      )}
    </select>
  </label>`
  return described(form, { name, field })
}

interface TextField {
  readonly name: TextName
  readonly label: string
  readonly hint?: string | undefined
  readonly type?: 'url'
  readonly maxLength?: number
  readonly isRequired?: boolean
}

function textField(form: ConnectionForm, field: TextField): Html {
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

function areaField(form: ConnectionForm, { name, label, hint }: TextField): Html {
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

const TOKEN: SecretField = { name: 'token', label: 'Token' }
const CLIENT_SECRET: SecretField = { name: 'client_secret', label: 'Client secret' }

/** A secret is never shown: neither its value, nor its end, nor its length. */
function secretField(form: ConnectionForm, { name, label }: SecretField): Html {
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
function marks({ problems }: ConnectionForm, name: FieldName, hint?: string): Html {
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
function described({ problems }: ConnectionForm, { name, field, hint }: Described): Html {
  const problem = problems[name]
  return html`<div>
    ${field} ${problem ? html`<p class="field-problem" id="${name}-problem">${problem}</p>` : ''}
    ${hint ? html`<span class="field-hint" id="${name}-hint">${hint}</span>` : ''}
  </div>`
}
