import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
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

/** The automation that a new token is for. */
export interface IssueSection {
  readonly session: Session
  readonly automation: Automation
  readonly form?: TokenForm | undefined
  /** The longest life of a token, in days; 0: any. */
  readonly tokenDaysMax: number
}

/** The form that issues a static token (SPEC 5.2). */
export function issueSection({ session, automation, form, tokenDaysMax }: IssueSection): Html {
  return html`<section class="card narrow" id="issue" aria-labelledby="issue-title">
    <div class="card-head"><h2 id="issue-title">New token</h2></div>
    <form method="post" action="/automations/${automation.automationId}/tokens" class="stack">
      ${csrfField(session.csrfToken)} ${problemBox(form?.problem)}
      <label
        >Name
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
      ${tokenFields(form?.fields ?? NEW_TOKEN, tokenDaysMax)}
      <div><button class="button primary">Issue token</button></div>
    </form>
  </section>`
}
