import { html } from 'hono/html'
import type { ListedToken } from '../../../../platform/automations/static-tokens.ts'
import { emptyState, time } from '../parts.ts'
import type { Html } from '../parts.ts'
import { endOfToken, scopeText } from '../token-facts.ts'

/** The content of an empty list of tokens. */
export const noTokens = (): Html =>
  emptyState('key', 'No tokens yet', 'Issue one for each system that will call this automation.')

/** Tokens, each with links to replace and to revoke it. */
export function tokensTable(tokens: readonly ListedToken[]): Html {
  return html`<table class="list">
    <caption class="unseen">
      Static tokens
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Valid for</th>
        <th scope="col">It may</th>
        <th scope="col">Ends</th>
        <th scope="col">Last used</th>
        <th scope="col"><span class="unseen">Action</span></th>
      </tr>
    </thead>
    <tbody>
      ${tokens.map(tokenRow)}
    </tbody>
  </table>`
}

const tokenRow = (token: ListedToken): Html =>
  html`<tr>
    <td class="lead">
      <span class="break">${token.name}</span>
      <span class="sub mono">pat_…${token.lastFour}</span>
    </td>
    <td data-label="Valid for" class="row-wide">${token.automationName ?? 'Whole organization'}</td>
    <td data-label="It may" class="row-wide break">${scopeText(token)}</td>
    <td data-label="Ends" class="quiet">${endOfToken(token, Date.now())}</td>
    <td data-label="Last used" class="quiet wide">${lastUse(token)}</td>
    <td class="action">
      <a class="button small" href="/tokens/${token.id}/replace" aria-label="Replace ${token.name}"
        >Replace</a
      >
      <a
        class="button danger small"
        href="/tokens/${token.id}/revoke"
        aria-label="Revoke ${token.name}"
        >Revoke</a
      >
    </td>
  </tr>`

function lastUse({ lastUsedAt, lastUsedAddress }: ListedToken): Html | string {
  if (!lastUsedAt) return 'Never'
  return html`${time(lastUsedAt)}
  ${lastUsedAddress ? html`<span class="sub mono">${lastUsedAddress}</span>` : ''}`
}
