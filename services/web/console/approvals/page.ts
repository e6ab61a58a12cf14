import { html } from 'hono/html'
import type { Session } from '../../../platform/sessions.ts'
import type { ListedApproval } from '../../../platform/run-approvals.ts'
import { runPath } from '../frame/addresses.ts'
import { plural, shortId } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { csrfField, emptyState, noticeBox, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** What waits for the people of an organization. */
export interface ApprovalsPage {
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
  const { automationId, automationName, runId, task, proposed, askedAt, decideBy, undecided } =
    approval
  const run = runPath({ automationId }, { id: runId })
  const heading = `approval-${runId}`
  return html`<section class="card" aria-labelledby="${heading}">
    <div class="card-head">
      <h2 id="${heading}">${automationName}: <span class="mono">${task}</span></h2>
      <a href="${run}" title="${runId}">Run ${shortId(runId)}</a>
    </div>
    <dl class="facts">
      <dt>Asked</dt>
      <dd>${time(askedAt)}</dd>
      <dt>Decide by</dt>
      <dd>${time(decideBy)}</dd>
    </dl>
    <form method="post" action="${run}/approval" class="stack">
      ${csrfField(csrfToken)}
      <input type="hidden" name="task" value="${task}" />
      <label
        >Output
        <textarea name="output" rows="10">${proposed}</textarea>
      </label>
      <label
        >Reason <span class="quiet">(when you reject)</span>
        <input name="reason" maxlength="2000" autocomplete="off" />
      </label>
      <div class="buttons">
        <button class="button primary" name="decision" value="approve">Approve</button>
        <button class="button" name="decision" value="edit">Save the edited output</button>
        <button class="button danger" name="decision" value="reject">Reject</button>
      </div>
      <p class="hint">
        Approve takes the output as it was proposed. Reject ends the run with an error. Without a
        decision in time the output counts as ${undecided === 'approve' ? 'approved' : 'rejected'}.
      </p>
    </form>
  </section>`
}
