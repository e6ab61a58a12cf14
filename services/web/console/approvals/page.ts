import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedApproval } from '../../../platform/runs/run-approvals.ts'
import { runPath } from '../frame/addresses.ts'
import { approvalForms } from '../frame/approval-forms.ts'
import { plural, shortId } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { emptyState, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** What waits for the people of an organization. */
interface ApprovalsPage {
  readonly session: Session
  readonly approvals: readonly ListedApproval[]
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** The outputs of tasks that people decide about. */
export function approvalsPage({ session, approvals, notice, problem }: ApprovalsPage): Html {
  return page(
    { title: 'Approvals', session, current: '/approvals' },
    html`<div class="page-head">
        <div>
          <h1>Approvals</h1>
          <p class="hint">${plural(approvals.length, 'run')} of ${session.organization} waiting</p>
        </div>
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      ${
        approvals.length > 0
          ? approvals.map((each) => approvalSection(session, each))
          : html`<section class="card" aria-label="Approvals">
              ${emptyState(
                'check',
                'Nothing waits',
                'Runs wait here when one of their tasks asks for a person (human_input).',
              )}
            </section>`
      }`,
  )
}

function approvalSection({ csrfToken }: Session, approval: ListedApproval): Html {
  const { automationId, automationName, runId, task } = approval
  const path = runPath({ automationId }, { id: runId })
  const [heading, run] = [`approval-${runId}`, `run-${runId}`]
  return html`<section class="card" aria-labelledby="${heading} ${run}">
    <div class="card-head">
      <h2 id="${heading}">${automationName}: <span class="mono">${task}</span></h2>
      <a id="${run}" href="${path}" title="${runId}">Run ${shortId(runId)}</a>
    </div>
    ${approvalForms({ approval, path, csrfToken, back: 'approvals' })}
  </section>`
}
