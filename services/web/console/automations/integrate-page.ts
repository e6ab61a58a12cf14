import { html } from 'hono/html'
import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Webhook } from '../../../platform/webhooks/webhooks.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { copyable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { apiSection } from './api-section.ts'
import type { SnippetsFor } from './client-snippets.ts'
import { webhooksSection } from './webhooks-section.ts'

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

/** What else starts runs, by the address of its page and its heading. */
const WAYS = {
  schedules: ['Schedules', 'Runs can start by themselves, at the times of a clock.'],
  triggers: ['Triggers', 'Events of other systems, such as GitHub or Stripe, can start runs.'],
  'workload-rules': [
    'Workload rules',
    'Jobs of GitHub or GitLab and pods of Kubernetes can call it without a secret.',
  ],
} as const

/** The ways to what starts runs of an automation. */
const waysSections = ({ automation }: { readonly automation: Automation }): Html =>
  html`${Object.entries(WAYS).map(
    ([path, [title, hint]]) =>
      html`<section class="card" aria-labelledby="${path}">
        <div class="card-head"><h2 id="${path}">${title}</h2></div>
        <p class="hint">${hint}</p>
        <p>
          <a class="button" href="/automations/${automation.automationId}/${path}"
            >Manage ${title.toLowerCase()}</a
          >
        </p>
      </section>`,
  )}`
