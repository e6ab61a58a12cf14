import { html } from 'hono/html'
import type { Deployment } from '../../platform/deployments.ts'
import type { Session } from '../../platform/sessions.ts'
import type { StaticToken } from '../../platform/static-tokens.ts'
import { csrfField, emptyState, problemBox, time } from './parts.ts'
import type { Html } from './parts.ts'

export interface TokenForm {
  readonly name: string
  readonly problem: string
}

export interface TokensSection {
  readonly session: Session
  readonly automation: Deployment
  readonly tokens: readonly StaticToken[]
  readonly form: TokenForm | undefined
}

/** The static tokens that may call an automation, and the form that issues one (SPEC 5.2). */
export function tokensSection(section: TokensSection): Html {
  const { tokens } = section
  return html`<section class="card flush" id="tokens" aria-labelledby="tokens-title">
    <div class="card-head"><h2 id="tokens-title">Static tokens</h2></div>
    ${
      tokens.length > 0
        ? tokensTable(section)
        : emptyState('key', 'No tokens yet', 'A system needs one to call this automation.')
    }
    ${issueForm(section)}
  </section>`
}

function tokensTable({ tokens, session, automation }: TokensSection): Html {
  return html`<table class="list">
    <caption class="unseen">
      Static tokens
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Good for</th>
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
            <td data-label="Good for">
              ${token.deploymentId === null ? 'Whole organization' : 'This automation'}
            </td>
            <td data-label="Created" class="quiet">${time(token.createdAt)}</td>
            <td data-label="Last used" class="quiet">
              ${token.lastUsedAt ? time(token.lastUsedAt) : 'Never'}
            </td>
            <td class="action">
              <form
                method="post"
                action="/automations/${automation.automationId}/tokens/${token.id}/revoke"
              >
                ${csrfField(session.csrfToken)}
                <button class="button danger small" aria-label="Revoke ${token.name}">
                  Revoke
                </button>
              </form>
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function issueForm({ session, automation, form }: TokensSection): Html {
  return html`<form
    method="post"
    action="/automations/${automation.automationId}/tokens"
    class="card-foot"
  >
    ${csrfField(session.csrfToken)} ${problemBox(form?.problem)}
    <div class="row">
      <label class="grow"
        >New token
        <input
          name="name"
          value="${form?.name ?? ''}"
          maxlength="100"
          placeholder="The system that will use it"
          autocomplete="off"
          required
        />
      </label>
      <label
        >Good for
        <select name="scope">
          <option value="automation">This automation</option>
          <option value="organization">Whole organization</option>
        </select>
      </label>
      <button class="button">Issue token</button>
    </div>
  </form>`
}
