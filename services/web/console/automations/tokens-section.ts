import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import type { Page } from '../../../platform/paging.ts'
import type { Session } from '../../../platform/sessions.ts'
import type { ListedToken } from '../../../platform/static-tokens.ts'
import { noTokens, tokensTable } from '../frame/lists/tokens-table.ts'
import { csrfField, problemBox, viewAll } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { NEW_TOKEN, tokenFields } from '../frame/token-fields.ts'
import type { TokenFields } from '../frame/token-fields.ts'

/** A form that was refused, with its problem. */
export interface TokenForm {
  readonly name: string
  readonly isWide: boolean
  readonly fields: TokenFields
  readonly problem: string
}

/** The automation whose tokens the section shows. */
export interface TokensSection {
  readonly session: Session
  readonly automation: Automation
  /** The newest ones. */
  readonly tokens: Page<ListedToken>
  readonly form: TokenForm | undefined
  /** The longest life of a token, in days; 0: any. */
  readonly tokenDaysMax: number
}

/** The static tokens that may call an automation, and the form that issues one (SPEC 5.2). */
export function tokensSection(section: TokensSection): Html {
  const { tokens, automation } = section
  const path = `/automations/${automation.automationId}/tokens`
  return html`<section class="card flush" id="tokens" aria-labelledby="tokens-title">
    <div class="card-head">
      <h2 id="tokens-title">Static tokens</h2>
      ${viewAll(path, tokens.total)}
    </div>
    ${tokens.items.length > 0 ? tokensTable(tokens.items) : noTokens()} ${issueForm(section)}
  </section>`
}

function issueForm({ session, automation, form, tokenDaysMax }: TokensSection): Html {
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
        >Valid for
        <select name="scope">
          <option value="automation">This automation</option>
          <option value="organization" ${form?.isWide ? html`selected` : ''}>
            Whole organization
          </option>
        </select>
      </label>
      <button class="button">Issue token</button>
    </div>
    <details class="more" ${form ? html`open` : ''}>
      <summary>What it may do, for how long, from where</summary>
      <div class="stack">${tokenFields(form?.fields ?? NEW_TOKEN, tokenDaysMax)}</div>
    </details>
  </form>`
}
