import { html } from 'hono/html'
import type { TraceScope, TraceToken } from '../../../platform/traces/trace-tokens.ts'
import { emptyState, pill, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const SCOPE_NAMES = {
  'traces:write': 'Sends',
  'traces:read': 'Reads',
} as const satisfies Record<TraceScope, string>

/** Returns what a token does, in a word. */
export const scopeName = (scope: TraceScope): string => SCOPE_NAMES[scope]

const DAY_MS = 86_400_000
/** As long before its end as the collector's log begins to warn. */
const WARNING_MS = 7 * DAY_MS

/** The content of an empty list of tokens. */
export const noTokens = (): Html =>
  emptyState('key', 'No tokens yet', 'Issue one for each program that will send traces.')

/** Tokens of the trace collector, each that works with a link to revoke it. */
export function tokenTable(tokens: readonly TraceToken[]): Html {
  const now = new Date()
  return html`<table class="list">
    <caption class="unseen">
      Tokens
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">State</th>
        <th scope="col">Scope</th>
        <th scope="col">Expires</th>
        <th scope="col">Issued</th>
        <th scope="col"><span class="unseen">Action</span></th>
      </tr>
    </thead>
    <tbody>
      ${tokens.map((token) => row(token, now))}
    </tbody>
  </table>`
}

function row(token: TraceToken, now: Date): Html {
  const { id, tokenId, name, scope, createdBy, createdAt, expiresAt, revokedAt } = token
  const isLive = revokedAt === null && expiresAt > now
  return html`<tr>
    <td class="lead">
      <span class="break">${name}</span>
      <span class="sub mono">${tokenId}</span>
    </td>
    <td data-label="State" class="row-wide">${statePill(token, now)}</td>
    <td data-label="Scope">${scopeName(scope)}</td>
    <td data-label="Expires" class="quiet wide">${time(expiresAt)}</td>
    <td data-label="Issued" class="quiet row-wide">
      ${time(createdAt)}
      <span class="sub">by ${createdBy ?? 'a user who is gone'}</span>
    </td>
    <td class="action">
      ${
        isLive
          ? html`<a
              class="button danger small"
              href="/send-traces/tokens/${id}/revoke"
              aria-label="Revoke ${name}"
              >Revoke</a
            >`
          : ''
      }
    </td>
  </tr>`
}

function statePill({ revokedAt, expiresAt }: TraceToken, now: Date): Html {
  if (revokedAt) return pill('idle', 'Revoked')
  const leftMs = expiresAt.getTime() - now.getTime()
  if (leftMs <= 0) return pill('idle', 'Expired')
  if (leftMs > WARNING_MS) return pill('good', 'Works')
  return pill('waiting', 'Expires soon')
}
