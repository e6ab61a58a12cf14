import { html } from 'hono/html'
import type { Limits } from '../../../platform/people/organization-limits.ts'
import type { Organization } from '../../../platform/people/organizations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { count } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { csrfField, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { LIMIT_FIELDS, LIMIT_LABELS } from './limits-form.ts'
import type { TypedLimits } from './limits-form.ts'
import { ORGANIZATIONS_PATH } from './organizations-page.ts'

/** The limits of an organization, as they are or were typed. */
export interface LimitsPage {
  readonly session: Session
  readonly organization: Organization
  /** Those of the settings. */
  readonly standard: Limits
  readonly typed: TypedLimits
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** The page with the limits of one organization. */
export function limitsPage({ session, organization, standard, typed, ...told }: LimitsPage): Html {
  const { id, name } = organization
  const standards = {
    token_calls_per_minute: standard.tokenCalls,
    organization_calls_per_minute: standard.organizationCalls,
    queued_runs: standard.queuedRuns,
  }
  return frame(
    { title: `Limits of ${name}`, session, current: ORGANIZATIONS_PATH },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${ORGANIZATIONS_PATH}">Organizations</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Limits of <span class="break">${name}</span></h1>
          <p class="hint">
            An empty field is the limit of the whole platform, 0 no limit. They hold within seconds.
          </p>
        </div>
      </div>
      ${noticeBox(told.notice)} ${problemBox(told.problem)}
      <section class="card narrow" aria-label="Limits">
        <form method="post" action="${ORGANIZATIONS_PATH}/${id}/limits" class="stack">
          ${csrfField(session.csrfToken)}
          ${LIMIT_FIELDS.map(
            (field) =>
              html`<label
                >${LIMIT_LABELS[field]}
                <input
                  name="${field}"
                  value="${typed[field]}"
                  inputmode="numeric"
                  maxlength="8"
                  autocomplete="off"
                />
                <span class="field-hint"
                  >The platform’s:
                  ${standards[field] === 0 ? 'no limit' : count(standards[field])}</span
                >
              </label>`,
          )}
          <div class="buttons"><button class="button primary">Save</button></div>
        </form>
      </section>`,
  )
}
