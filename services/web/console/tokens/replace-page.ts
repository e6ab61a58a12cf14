import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedToken } from '../../../platform/automations/static-tokens.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { tokenFields } from '../frame/token-fields.ts'
import type { TokenFields } from '../frame/token-fields.ts'

/** The days for which the former token may go on beside the new one. */
export const OVERLAP_DAYS: readonly number[] = [0, 1, 7, 30]

/** A token that is to be replaced. */
export interface ReplacePage {
  readonly session: Session
  readonly token: ListedToken
  readonly fields: TokenFields
  readonly overlapDays: number
  readonly daysMax: number
  readonly problem?: string
}

/** The form that puts a new token in the place of another one. */
export function replacePage(view: ReplacePage): Html {
  const { session, token, fields, overlapDays, daysMax, problem } = view
  const title = `Replace the token ${token.name}`
  return page(
    { title, session, current: '/tokens' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/tokens">Tokens</a></nav>
      <div class="page-head"><h1>${title}</h1></div>
      <div class="card narrow">
        ${problemBox(problem)}
        <p>
          A new token takes its place, for
          ${token.automationName ?? `all automations of ${session.organization}`}. Put it into the
          systems that use the former one while both are good.
        </p>
        <form method="post" action="/tokens/${token.id}/replace" class="stack">
          ${csrfField(session.csrfToken)}
          <label
            >The former one ends
            <select name="overlap">
              ${OVERLAP_DAYS.map(
                (days) =>
                  html`<option value="${days}" ${days === overlapDays ? html`selected` : ''}>
                    ${overlapText(days)}
                  </option>`,
              )}
            </select>
          </label>
          ${tokenFields(fields, daysMax)}
          <div class="buttons">
            <button class="button primary">Issue the new token</button>
            <a class="button" href="/tokens">Cancel</a>
          </div>
        </form>
      </div>`,
  )
}

function overlapText(days: number): string {
  if (days === 0) return 'At once'
  return days === 1 ? 'After a day' : `After ${days} days`
}
