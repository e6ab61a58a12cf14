import { html } from 'hono/html'
import type { ConfigurationTest } from '../../gate/access-token/test-configuration.ts'
import { page } from '../frame/layout.ts'
import { explainSection } from './explain-section.ts'
import { oauthForm } from './form-section.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'
import type { OauthSettingsView } from './view.ts'
import { noticeBox, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Settings → Organization → OAuth 2.0 for Automations (SPEC 5.2). */
export function oauthSettingsPage(view: OauthSettingsView): Html {
  const { session, state, notice, test } = view
  return page(
    { title: 'OAuth 2.0 for Automations', session, current: '/settings' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${OAUTH_PATH}">Settings</a><a href="${OAUTH_PATH}">Organization</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>OAuth 2.0 for Automations</h1>
          <p class="hint">
            The access tokens that the automations of ${session.organization} accept.
          </p>
        </div>
        ${STATE_PILLS[state]()}
      </div>
      ${noticeBox(notice)}
      <div class="columns">
        <div>
          ${test ? testSection(test) : ''} ${oauthForm(view)}
          ${state === 'never' ? '' : explainSection(view)}
        </div>
        <div>${filteringCard(state)} ${stepsCard()}</div>
      </div>`,
  )
}

const STATE_PILLS = {
  on: () => pill('good', 'on'),
  off: () => pill('idle', 'off'),
  never: () => pill('idle', 'not set up'),
} as const satisfies Record<OauthSettingsView['state'], () => Html>

const filteringCard = (state: OauthSettingsView['state']): Html =>
  html`<section class="card" aria-labelledby="filtering">
    <div class="card-head"><h2 id="filtering">Client ID Filtering</h2></div>
    <p class="hint">
      Each automation accepts the tokens of one OAuth client. An automation without a client cannot
      be called with OAuth.
    </p>
    <p>
      <a class="button ${state === 'on' ? 'primary' : ''}" href="/oauth-clients"
        >Manage automations</a
      >
    </p>
  </section>`

const STEPS = [
  'Create an authorization server whose audience is the base URL of this platform.',
  'Define the scope platform_automations, and an access policy with at least one rule that lets ' +
    'your clients use the server.',
  'Register a client for the client credentials grant, with a secret or with a public key.',
  'Enter the issuer here, test the configuration and save it.',
  'Enter the client ID of each automation under Client ID Filtering.',
]

const stepsCard = (): Html =>
  html`<section class="card" aria-labelledby="steps">
    <div class="card-head"><h2 id="steps">How to set it up</h2></div>
    <ol class="plan numbered">
      ${STEPS.map((step) => html`<li>${step}</li>`)}
    </ol>
  </section>`

function testSection({ ok, steps, result, keys }: ConfigurationTest): Html {
  return html`<section
    class="card flush ${ok ? '' : 'failed'}"
    id="test"
    aria-labelledby="test-title"
  >
    <div class="card-head">
      <h2 id="test-title">Test of the configuration</h2>
      ${ok ? pill('good', 'passed') : pill('bad', 'failed')}
    </div>
    <table class="list tight">
      <caption class="unseen">
        Each request and its result
      </caption>
      <tbody>
        ${steps.map(
          ({ url, problem }) =>
            html`<tr>
              <td class="lead row-wide">
                <span class="value break">${url}</span>
                ${problem ? html`<span class="sub">${problem}</span>` : ''}
              </td>
              <td class="state">${problem ? pill('bad', 'failed') : pill('good', 'OK')}</td>
            </tr>`,
        )}
        ${keys.map(
          ({ id, kind, usable }) =>
            html`<tr>
              <td class="lead row-wide">
                Key <span class="value break">${id}</span> <span class="sub">${kind}</span>
              </td>
              <td class="state">${usable ? pill('good', 'fits') : pill('idle', 'not used')}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <div class="card-foot">${result}</div>
  </section>`
}
