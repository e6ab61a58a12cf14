import { html } from 'hono/html'
import type { ConfigurationTest } from '../../gate/access-token/test-configuration.ts'
import { OAUTH_CLIENTS_PATH, REGIONS_PATH } from '../frame/addresses.ts'
import { pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const STEPS = [
  'Create an authorization server whose audience is the base URL of this platform.',
  'Define the scope platform_automations, and an access policy with at least one rule that lets ' +
    'your clients use the server.',
  'Register a client for the client credentials grant, with a secret or with a public key.',
  'Enter the issuer here, test the configuration and save it.',
  'Enter the client ID of each automation under Client ID Filtering.',
]

/** What is to be done beside the settings: at the provider, and for each automation. */
export const setupSections = (isOn: boolean): Html =>
  html`<section class="card" aria-labelledby="filtering">
      <div class="card-head"><h2 id="filtering">Client ID Filtering</h2></div>
      <p class="hint">
        Each automation accepts the tokens of one OAuth client. An automation without a client
        cannot be called with OAuth.
      </p>
      <p>
        <a class="button ${isOn ? 'primary' : ''}" href="${OAUTH_CLIENTS_PATH}"
          >Manage automations</a
        >
      </p>
    </section>
    <section class="card" aria-labelledby="steps">
      <div class="card-head"><h2 id="steps">How to set it up</h2></div>
      <ol class="plan numbered">
        ${STEPS.map((step) => html`<li>${step}</li>`)}
      </ol>
    </section>
    <section class="card" aria-labelledby="regions">
      <div class="card-head"><h2 id="regions">Regions</h2></div>
      <p class="hint">A rule limits to which regions the data of your organization may go.</p>
      <p><a class="button" href="${REGIONS_PATH}">Open the rule</a></p>
    </section>`

/** What a test of the settings found: each request and each key. */
export function testSection({ ok, steps, result, keys }: ConfigurationTest): Html {
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
