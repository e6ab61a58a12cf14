import { html } from 'hono/html'
import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { exampleInputs } from '../../../platform/definitions/input-schema.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import { automation } from '../../nouns/automation.ts'
import { NOUNS, PAGES_BY_HAND } from '../../nouns/list.ts'
import { webhooks, webhookState } from '../../nouns/webhooks.ts'
import type { Reader } from '../../resources/declaration.ts'
import { namesOf } from '../../resources/names.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { copyable, statePill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { kickoffCommand, statusCommand } from '../frame/commands.ts'
import { OAUTH_CLIENTS_PATH, OAUTH_PATH } from '../frame/addresses.ts'
import type { SnippetsFor, Snippet } from './client-snippets.ts'

/** What other systems need to know of an automation, as its route reads it. */
interface IntegratePage {
  readonly session: Session
  readonly automation: Automation
  readonly fields: readonly InputField[]
  readonly webhooks: readonly Webhook[]
  /** The OAuth settings of its organization, if there are any. */
  readonly oauth: AutomationOauth | undefined
  /** The address of its API. */
  readonly apiUrl: string
  readonly snippetsFor: SnippetsFor
}

/** How other systems call an automation, are told of its runs, and when it starts by itself. */
export function integratePage(view: IntegratePage): Html {
  const { session, automation } = view
  return page(
    { title: `${automation.name}: integrate`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'integrate' })}
      <div class="columns">
        <div>${apiSection(view)}</div>
        <div>
          ${addressSection(automation)} ${mcpSection(view)} ${webhooksSection(view)}
          ${waysSections(view)}
        </div>
      </div>`,
  )
}

const addressSection = ({ automationId, slug }: Automation): Html =>
  html`<section class="card" aria-labelledby="address">
    <div class="card-head"><h2 id="address">Names</h2></div>
    <dl class="facts">
      <dt>Automation ID</dt>
      <dd class="mono select">${automationId}</dd>
      <dt>Slug</dt>
      <dd class="mono">${slug}</dd>
    </dl>
  </section>`

/** The address at which agents find it as a tool. */
const mcpSection = ({ apiUrl, automation }: IntegratePage): Html =>
  html`<section class="card" aria-labelledby="mcp">
    <div class="card-head"><h2 id="mcp">Use it as a tool</h2></div>
    <p class="hint">
      MCP clients, such as Claude or an editor, call it as the tool <code>${automation.slug}</code>
      of this server, with a token that may start and read runs.
    </p>
    ${copyable('Address of the MCP server', `${apiUrl}/mcp`)}
    <p class="hint">Agents that speak A2A read its card below this address, with such a token.</p>
    ${copyable('Address of the agent', `${apiUrl}/a2a`)}
  </section>`

/** The end of the address of a list, its heading, and what is set there. */
type Way = readonly [segment: string, titles: string, about: string]

const wayOf: Reader<readonly Way[]> = ({ kind, under, words }) => {
  const { segment, titles } = namesOf(kind)
  return Object.is(under, automation) ? [[segment, titles, words.about]] : []
}

const SHOWN_BY_HAND = [webhooks, ...PAGES_BY_HAND]
/** What else is set beside an automation, such as what starts its runs. */
const WAYS = NOUNS.filter((noun) => !SHOWN_BY_HAND.includes(noun)).flatMap((noun) =>
  noun.read(wayOf),
)

const waysSections = ({ automation: { automationId } }: IntegratePage): Html =>
  html`${WAYS.map(
    ([segment, titles, about]) =>
      html`<section class="card" aria-labelledby="${segment}">
        <div class="card-head"><h2 id="${segment}">${titles}</h2></div>
        <p class="hint">${about}</p>
        <p>
          <a class="button" href="/automations/${automationId}/${segment}"
            >Manage ${titles.toLowerCase()}</a
          >
        </p>
      </section>`,
  )}`

/** The automation whose webhooks the section shows. */
interface WebhooksSection {
  readonly automation: Automation
  readonly webhooks: readonly Webhook[]
}

/** The systems that are told of an automation's runs. */
function webhooksSection({ automation, webhooks }: WebhooksSection): Html {
  const path = `/automations/${automation.automationId}/webhooks`
  return html`<section class="card" aria-labelledby="webhooks">
    <div class="card-head"><h2 id="webhooks">Webhooks</h2></div>
    ${
      webhooks.length > 0
        ? html`<ul class="plan">
            ${webhooks.map(
              (webhook) =>
                html`<li>
                  <a class="mono break" href="${path}/${webhook.id}"
                    >${new URL(webhook.url).host}</a
                  >
                  ${statePill(webhookState(webhook))}
                </li>`,
            )}
          </ul>`
        : html`<p class="hint">Other systems can be told what happens in the runs.</p>`
    }
    <p>
      <a class="button" href="${path}"
        >${webhooks.length > 0 ? 'Manage webhooks' : 'Set up a webhook'}</a
      >
    </p>
  </section>`
}

/** The automation whose API the section explains. */
interface ApiSection {
  readonly automation: Automation
  readonly fields: readonly InputField[]
  readonly oauth: AutomationOauth | undefined
  readonly apiUrl: string
  readonly snippetsFor: SnippetsFor
}

/** Ways to call an automation: curl first, then programs for each mode (SPEC 4.4, 4.5, 5.2). */
function apiSection(section: ApiSection): Html {
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
