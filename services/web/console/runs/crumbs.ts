import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { ConfirmPage } from '../frame/confirm-page.ts'
import type { Html } from '../frame/parts.ts'

/** Returns the way to a run: by its automation, or by the project whose draft it tests. */
export const wayTo = ({
  automationId,
  name,
  testsProjectId,
}: Pick<Automation, 'automationId' | 'name' | 'testsProjectId'>): ConfirmPage['crumbs'] =>
  testsProjectId === null
    ? [
        { path: '/automations', name: 'Automations' },
        { path: `/automations/${automationId}`, name },
      ]
    : [
        { path: '/projects', name: 'Projects' },
        { path: `/projects/${testsProjectId}`, name },
      ]

/** The way to a page of a run. */
export const crumbs = (way: ConfirmPage['crumbs']): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    ${way.map(({ path, name }) => html`<a href="${path}">${name}</a>`)}
  </nav>`
