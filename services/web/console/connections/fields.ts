import { html } from 'hono/html'
import type { AuthMethod, Exchange } from '../../../platform/connections/oauth-connections.ts'
import { copyable, csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import type { FieldName } from './form.ts'
import {
  areaField,
  CLIENT_SECRET,
  described,
  marks,
  secretField,
  textField,
  TOKEN,
} from './form-inputs.ts'
import type { ConnectionForm } from './form-inputs.ts'
import { region } from '../../nouns/region.ts'
import { findShape } from './shapes.ts'
import type { TextName } from './texts.ts'

/** The form of a connection. */
export function connectionForm(form: ConnectionForm): Html {
  const { session, action, verb, typed, isSaved } = form
  const { provider, kind } = typed
  return html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    ${isSaved ? '' : html`<input type="hidden" name="provider" value="${provider}" />`}
    ${isSaved || kind !== null ? '' : html`<input type="hidden" name="operator" value="yes" />`}
    ${isSaved ? '' : nameField(form)} ${kind === 'static_token' ? tokenFields(form) : ''}
    ${kind === 'identity' ? identityFields(form) : ''}
    ${kind === 'authorization_code' || kind === 'client_credentials' ? clientFields(form) : ''}
    ${placesField(form)} ${regionField(form)} ${kind === null ? '' : testField(form)}
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

const regionField = (form: ConnectionForm): Html =>
  textField(form, {
    name: 'region',
    label: region.look.label,
    maxLength: 40,
    hint: region.look.hint,
  })

const testField = (form: ConnectionForm): Html =>
  textField(form, {
    name: 'test_url',
    label: 'Test address',
    type: 'url',
    hint: 'Gets the token by a GET when you press Test, and should answer 2xx while it is good.',
  })

const tokenFields = (form: ConnectionForm): Html =>
  html`${secretField(form, TOKEN)} ${sendingFields(form)}`

const identityFields = (form: ConnectionForm): Html =>
  html`${textField(form, {
    name: 'audience',
    label: 'Audience',
    isRequired: true,
    hint: 'Whom the identity of a run is for, as the receiver asks for it. It keeps no secret.',
  })}
  ${exchangeFields(form)} ${sendingFields(form)}`

const OF_EXCHANGES = [
  'exchange',
  'issuer',
  'token_endpoint',
  'client_id',
  'client_secret',
  'token_endpoint_auth_method',
  'scopes',
  'parameters',
] as const

const EXCHANGE_NAMES = {
  '': 'No: it is sent as it is',
  token_exchange: 'For a token (RFC 8693, token exchange)',
  jwt_bearer: 'For a token (RFC 7523, JWT bearer)',
  client_assertion: 'For a token of a client that it proves (RFC 7523)',
} as const satisfies Record<Exchange | '', string>

const exchangeFields = (form: ConnectionForm): Html =>
  html`<details
    class="more"
    ${form.typed.texts.exchange === '' ? isOpen(form, OF_EXCHANGES) : html`open`}
  >
    <summary>Exchange it first, as at the token service of a cloud</summary>
    <div class="stack">
      ${choiceField(form, { name: 'exchange', label: 'Exchange', names: EXCHANGE_NAMES })}
      ${addressFields(form, (name) => name === 'issuer' || name === 'token_endpoint')}
      ${textField(form, {
        name: 'client_id',
        label: 'Client ID',
        hint: 'Where the token service knows one.',
      })}
      ${methodField(form, 'None: the identity is enough')} ${secretField(form, CLIENT_SECRET)}
      ${textField(form, { name: 'scopes', label: 'Scopes', hint: 'With spaces between.' })}
      ${areaField(form, {
        name: 'parameters',
        label: 'More parameters',
        hint: 'Of the token request, one on each line, such as audience=https://api.example.com',
      })}
    </div>
  </details>`

const sendingFields = (form: ConnectionForm): Html =>
  html`<details class="more" ${isOpen(form, ['header', 'prefix'])}>
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

const methodField = (form: ConnectionForm, none: string = METHOD_NAMES.none): Html =>
  choiceField(form, {
    name: 'token_endpoint_auth_method',
    label: 'Authentication of the client',
    names: { ...METHOD_NAMES, none },
  })

interface Choice {
  readonly name: 'token_endpoint_auth_method' | 'exchange'
  readonly label: string
  /** What people read, by what is stored. */
  readonly names: Readonly<Record<string, string>>
}

function choiceField(form: ConnectionForm, { name, label, names }: Choice): Html {
  const chosen = form.typed.texts[name]
  const field = html`<label
    >${label}
    <select name="${name}" ${marks(form, name)}>
      ${Object.entries(names).map(
        ([value, text]) =>
          html`<option value="${value}" ${value === chosen ? html`selected` : ''}>${text}</option>`,
      )}
    </select>
  </label>`
  return described(form, { name, field })
}
