import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { automationPill } from './parts.ts'
import type { Html } from './parts.ts'

/** What there is to an automation, a page each. */
const TABS = {
  runs: { path: '', name: 'Runs' },
  integrate: { path: '/integrate', name: 'Integrate' },
  tokens: { path: '/static-tokens', name: 'Tokens' },
  design: { path: '/design', name: 'Design' },
  deploy: { path: '/deployments', name: 'Deploy' },
  settings: { path: '/settings', name: 'Settings' },
} as const

/** The page of an automation that one belongs to. */
type AutomationTab = keyof typeof TABS

interface AutomationHead {
  readonly automation: Pick<Automation, 'automationId' | 'name' | 'status'>
  readonly tab: AutomationTab
  /** The title of a page behind a tab. @default the name of the automation */
  readonly title?: string
  readonly hint?: Html | string
  /** What stands on the right, such as a search. */
  readonly aside?: Html | string
}

/** The way back to the list, the name and the status of an automation, and its tabs. */
export function automationHead({ automation, tab, title, hint, aside = '' }: AutomationHead): Html {
  const { automationId, name, status } = automation
  const path = `/automations/${automationId}`
  return html`<nav class="crumbs" aria-label="Breadcrumb">
      <a href="/automations">Automations</a>${
        title === undefined ? '' : html`<a href="${path}">${name}</a>`
      }
    </nav>
    <div class="page-head with-tabs">
      <div>
        <div class="pair">
          <h1 class="break">${title ?? name}</h1>
          ${automationPill(status)}
        </div>
        ${hint ? html`<p class="hint">${hint}</p>` : ''}
      </div>
      ${aside}
    </div>
    ${automationTabs(automation, tab)}`
}

/** The tabs of an automation. */
const automationTabs = (
  { automationId }: Pick<Automation, 'automationId'>,
  current: AutomationTab,
): Html =>
  html`<nav class="tabs" aria-label="Automation">
    ${Object.entries(TABS).map(
      ([key, { path, name }]) =>
        html`<a
          href="/automations/${automationId}${path}"
          ${key === current ? html`aria-current="page"` : ''}
          >${name}</a
        >`,
    )}
  </nav>`
