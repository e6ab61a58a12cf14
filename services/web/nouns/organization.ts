import { html } from 'hono/html'
import { findOrganization } from '../../platform/people/organizations.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { crumbs } from '../console/frame/confirm-page.ts'
import type { Crumb } from '../console/frame/confirm-page.ts'
import type { Parent } from '../resources/declaration.ts'

/**
 * Returns what belongs to the organization of the caller: with the path of its entry in the
 * navigation, the way to it from there, and what stands before the addresses of its pages.
 */
export const organization = (
  current: string,
  above: readonly Crumb[] = [],
  pages = '',
): Parent<Organization> => ({
  noun: 'organization',
  path: '',
  pages,
  current,
  facts: {},
  find: (sql, { organizationId }) => findOrganization(sql, organizationId),
  name: ({ name }) => name,
  pathOf: () => '',
  crumbs: () => above,
  head: (_, { title, hint, aside }) =>
    html`${above.length > 0 ? crumbs(above) : ''}
      <div class="page-head">
        <div>
          <h1>${title}</h1>
          <p class="hint">${hint}</p>
        </div>
        ${aside}
      </div>`,
})
