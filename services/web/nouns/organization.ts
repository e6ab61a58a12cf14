import { html } from 'hono/html'
import { findOrganization } from '../../platform/people/organizations.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import type { Parent } from '../resources/declaration.ts'

/** Returns what belongs to the organization of the caller, with the path of its own entry. */
export const organization = (current: string): Parent<Organization> => ({
  noun: 'organization',
  path: '',
  current,
  facts: {},
  find: (sql, { organizationId }) => findOrganization(sql, organizationId),
  name: ({ name }) => name,
  pathOf: () => '',
  crumbs: () => [],
  head: (_, { title, hint, aside }) =>
    html`<div class="page-head">
      <div>
        <h1>${title}</h1>
        <p class="hint">${hint}</p>
      </div>
      ${aside}
    </div>`,
})
