import { html } from 'hono/html'
import { ALGORITHMS } from '../../../platform/automations/automation-oauth.ts'
import { LIFETIME_SECONDS, SKEW_SECONDS_MAX } from './form.ts'
import type { OauthFormValues } from './form.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'
import type { OauthSettingsView } from './view.ts'
import { icon } from '../frame/icons.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The form of the settings. Its second button tests what was typed without saving it. */
export function oauthForm({ session, values, problems }: OauthSettingsView): Html {
  return html`<section class="card" aria-labelledby="settings">
    <div class="card-head"><h2 id="settings">Authorization server</h2></div>
    ${problemList(problems)}
    <form method="post" action="${OAUTH_PATH}" class="stack">
      ${csrfField(session.csrfToken)}
      ${tick({
        name: 'enabled',
        label: 'Accept access tokens from this authorization server',
        checked: values.enabled,
      })}
      ${serverFields(values)} ${tokenFields(values)} ${limitFields(values)}
      ${tick({
        name: 'static_tokens_allowed',
        label: 'Accept static tokens as well',
        checked: values.staticTokensAllowed,
        hint: 'Applies while OAuth is on. While it is off, static tokens are always accepted.',
      })}
      <div class="buttons">
        <button class="button primary">Save</button>
        <button class="button" formaction="${OAUTH_PATH}/test#test">Test configuration</button>
      </div>
    </form>
  </section>`
}

const problemList = (problems: readonly string[]): Html | string =>
  problems.length === 0
    ? ''
    : html`<div class="notice bad" role="alert">
        ${icon('alert')}
        <ul class="problems">
          ${problems.map((problem) => html`<li>${problem}</li>`)}
        </ul>
      </div>`

function serverFields({ issuer, discoveryUrl, jwksUrl, tokenUrl }: OauthFormValues): Html {
  return html`${textField({
      name: 'issuer',
      label: 'Issuer',
      value: issuer,
      placeholder: 'https://example.okta.com/oauth2/aus1a2b3c',
      hint: 'Exactly as in the iss claim of the tokens, including a trailing slash if it has one.',
      required: true,
    })}
    <details class="more" ${discoveryUrl || jwksUrl || tokenUrl ? html`open` : ''}>
      <summary>Override discovered addresses</summary>
      <div class="stack">
        ${textField({
          name: 'discovery_url',
          label: 'Discovery URL',
          value: discoveryUrl,
          hint:
            'Leave empty to use the well-known addresses of the issuer. ' +
            'The metadata must name the issuer above.',
        })}
        ${textField({
          name: 'jwks_url',
          label: 'JWKS URL',
          value: jwksUrl,
          hint: 'Leave empty to use the address that discovery returns.',
        })}
        ${textField({
          name: 'token_url',
          label: 'Token URL',
          value: tokenUrl,
          hint:
            'Used only in the examples on the pages of your automations. ' +
            'Leave empty to use the address that discovery returns when you save.',
        })}
      </div>
    </details>`
}

function tokenFields(values: OauthFormValues): Html {
  const { audiences, absentAudienceAllowed, scope, scopeClaim } = values
  const list = html`<label
    >Audiences
    <textarea name="audiences" rows="2" required aria-describedby="audiences-hint">
${audiences}</textarea>
  </label>`
  return html`${described('audiences', list, AUDIENCES_HINT)}
    ${tick({
      name: 'absent_audience_allowed',
      label: 'Accept tokens without an audience',
      checked: absentAudienceAllowed,
      hint:
        'For Amazon Cognito, whose access tokens name none. ' +
        'A token for another audience is still refused.',
    })}
    <div class="two">
      ${textField({
        name: 'scope',
        label: 'Scope',
        value: scope,
        hint: 'Every token must contain it.',
        required: true,
      })}
      <label
        >Claim that holds it
        <select name="scope_claim">
          <option value="scope" ${scopeClaim === 'roles' ? '' : html`selected`}>
            scope and scp
          </option>
          <option value="roles" ${scopeClaim === 'roles' ? html`selected` : ''}>
            roles (Entra ID)
          </option>
        </select>
      </label>
    </div>`
}

function limitFields({ algorithms, skewSeconds, lifetimeSecondsMax }: OauthFormValues): Html {
  return html`<fieldset>
      <legend>Algorithms</legend>
      <div class="ticks">
        ${ALGORITHMS.map(
          (each) =>
            html`<label class="tick"
              ><input
                type="checkbox"
                name="algorithms"
                value="${each}"
                ${algorithms.includes(each) ? html`checked` : ''}
              /><span>${each}</span></label
            >`,
        )}
      </div>
    </fieldset>
    <div class="two">
      ${textField({
        name: 'skew_seconds',
        label: 'Clock skew in seconds',
        value: skewSeconds,
        hint: `How far clocks may differ, at most ${SKEW_SECONDS_MAX}.`,
        required: true,
      })}
      ${textField({
        name: 'lifetime_seconds_max',
        label: 'Maximum lifetime in seconds',
        value: lifetimeSecondsMax,
        hint: `Between ${LIFETIME_SECONDS.min} and ${LIFETIME_SECONDS.max}; 86400 is a day.`,
        required: true,
      })}
    </div>`
}

const AUDIENCES_HINT =
  'One per line. A token must name one of them. The default is the base URL of this platform; ' +
  'Entra ID uses the GUID of the API application.'

interface TextField {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly hint: string
  readonly placeholder?: string
  readonly required?: boolean
}

/** A field with its hint, which describes the field without being part of its name. */
const described = (name: string, field: Html, hint: string): Html =>
  html`<div>
    ${field}
    <span class="field-hint" id="${name}-hint">${hint}</span>
  </div>`

function textField({ name, label, value, hint, placeholder = '', required }: TextField): Html {
  const field = html`<label
    >${label}
    <input
      name="${name}"
      value="${value}"
      placeholder="${placeholder}"
      aria-describedby="${name}-hint"
      autocomplete="off"
      spellcheck="false"
      ${required ? html`required` : ''}
    />
  </label>`
  return described(name, field, hint)
}

interface Tick {
  readonly name: string
  readonly label: string
  readonly checked: boolean
  readonly hint?: string
}

function tick({ name, label, checked, hint }: Tick): Html {
  const box = html`<label class="tick"
    ><input
      type="checkbox"
      name="${name}"
      value="on"
      ${checked ? html`checked` : ''}
      ${hint ? html`aria-describedby="${name}-hint"` : ''}
    /><span>${label}</span></label
  >`
  return hint ? html`<div class="ticked">${described(name, box, hint)}</div>` : box
}
