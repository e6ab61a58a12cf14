import { html } from 'hono/html'
import { emptyState } from '../parts.ts'
import type { Html } from '../parts.ts'

/** The way to a new automation, for the head of a page. */
export const newAutomation = (): Html =>
  html`<a class="button primary" href="/new-automation">New automation</a>`

/** The content of an empty list of automations, which leads to the first one. */
export const noAutomations = (): Html =>
  emptyState(
    'automations',
    'No automations yet',
    html`Design a crew in the browser, import one of CrewAI, or deploy a program of your own.
      <span class="empty-ways">${newAutomation()}</span>`,
  )
