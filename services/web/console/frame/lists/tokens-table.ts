import { html } from 'hono/html'
import type { Automation } from '../../../../platform/automations.ts'
import type { StaticToken } from '../../../../platform/static-tokens.ts'
import { emptyState, time } from '../parts.ts'
import type { Html } from '../parts.ts'

/** The content of an empty list of tokens. */
export const noTokens = (): Html =>
  emptyState('key', 'No tokens yet', 'Issue one for each system that will call this automation.')

/** Tokens, each with a link to revoke it. */
export function tokensTable(automation: Automation, tokens: readonly StaticToken[]): Html {
  return html`<table class="list">
    <caption class="unseen">
      Static tokens
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Valid for</th>
        <th scope="col">Created</th>
        <th scope="col">Last used</th>
        <th scope="col"><span class="unseen">Action</span></th>
      </tr>
    </thead>
    <tbody>
      ${tokens.map(
        (token) =>
          html`<tr>
            <td class="lead">
              <span class="break">${token.name}</span>
              <span class="sub mono">pat_…${token.lastFour}</span>
            </td>
            <td data-label="Valid for" class="row-wide">
              ${token.deploymentId === null ? 'Whole organization' : 'This automation'}
            </td>
            <td data-label="Created" class="quiet">${time(token.createdAt)}</td>
            <td data-label="Last used" class="quiet wide">
              ${token.lastUsedAt ? time(token.lastUsedAt) : 'Never'}
            </td>
            <td class="action">
              <a
                class="button danger small"
                href="/automations/${automation.automationId}/tokens/${token.id}/revoke"
                aria-label="Revoke ${token.name}"
                >Revoke</a
              >
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`
}
