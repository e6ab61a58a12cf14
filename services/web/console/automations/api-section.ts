import { html } from 'hono/html'
import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { exampleInputs } from '../../../platform/definitions/input-schema.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import type { Snippet, SnippetsFor } from './client-snippets.ts'
import { kickoffCommand, statusCommand } from '../frame/commands.ts'
import { OAUTH_CLIENTS_PATH, OAUTH_PATH } from '../frame/addresses.ts'
import { copyable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The automation whose API the section explains. */
interface ApiSection {
  readonly automation: Automation
  readonly fields: readonly InputField[]
  readonly oauth: AutomationOauth | undefined
  readonly apiUrl: string
  readonly snippetsFor: SnippetsFor
}

/** Ways to call an automation: curl first, then programs for each mode (SPEC 4.4, 4.5, 5.2). */
export function apiSection(section: ApiSection): Html {
  const { automation, fields, oauth, apiUrl, snippetsFor } = section
  const inputs = exampleInputs(fields)
  const { oauthClientId } = automation
  const isOn = oauth?.enabled === true
  const target = {
    clientId: oauthClientId ?? 'CLIENT_ID',
    scope: oauth?.scope ?? '',
    tokenUrl: plainUrl(oauth?.tokenUrl),
  }
  const snippets = snippetsFor({ apiUrl, inputs, oauth: isOn ? target : undefined })
  return html`<section class="card" aria-labelledby="api">
    <div class="card-head"><h2 id="api">Call it from your systems</h2></div>
    <p class="hint">
      Set the variable <code>TOKEN</code> to a token of this automation. Click a command to select
      all of it.
    </p>
    ${copyable('Command that starts a run', kickoffCommand(apiUrl, inputs))}
    <p class="hint">The response contains a <code>kickoff_id</code>. Ask for the status with:</p>
    ${copyable('Command that asks for the status', statusCommand(apiUrl))}
    ${isOn ? oauthHint(oauthClientId, target.tokenUrl) : ''}
    <div class="tab-group">${snippets.map(snippet)}</div>
  </section>`
}

/** Callers send a secret there, with programs that may read another spelling in their own way. */
const plainUrl = (url: string | null | undefined): string | undefined =>
  url && addressProblem(url) === undefined ? url : undefined

function oauthHint(clientId: string | null, tokenUrl: string | undefined): Html {
  if (clientId === null)
    return html`<p class="hint">
      OAuth is on, but this automation has no client yet:
      <a href="${OAUTH_CLIENTS_PATH}">set its OAuth Client ID</a>.
    </p>`
  return html`<p class="hint">
    With OAuth, the client <code>${clientId}</code> calls it.
    ${
      tokenUrl
        ? ''
        : html`Enter the token URL of your identity provider in the programs, or in the
            <a href="${OAUTH_PATH}">settings</a>.`
    }
  </p>`
}

const snippet = ({ title, needs, text }: Snippet): Html =>
  html`<details>
    <summary>${title}</summary>
    <div>
      <p class="hint">Needs ${needs} in the environment.</p>
      ${copyable(title, text)}
    </div>
  </details>`
