import { html } from 'hono/html'
import type { Approval } from '../../../platform/runs/run-approvals.ts'
import { ANSWER_CHARACTERS_MAX } from '../../../platform/runs/run-approvals.ts'
import { csrfField, time } from './parts.ts'
import type { Html } from './parts.ts'
import { renderText } from './text/text-view.ts'

/** What a run asks a person, and the page that asks. */
interface AskedApproval {
  readonly approval: Approval
  /** The address of the run. */
  readonly path: string
  readonly csrfToken: string
  /** The page that the decision leads back to. */
  readonly back: 'approvals' | 'run'
}

/** The output of a task that a person decides about, and the ways to decide. */
export function approvalForms(asked: AskedApproval): Html {
  const { runId, proposed, askedAt, decideBy, undecided } = asked.approval
  const ways = `decide-${runId}`
  return html`<dl class="facts">
      <dt>Asked</dt>
      <dd>${time(askedAt)}</dd>
      <dt>Decide by</dt>
      <dd>${time(decideBy)}</dd>
    </dl>
    <div class="output" tabindex="0" role="group" aria-label="Proposed output">
      ${proposed.trim() ? renderText(proposed) : html`<p class="hint">The output is empty.</p>`}
    </div>
    <div class="decisions">
      ${decisionForm(asked, html`${submit('approve', 'Approve', 'primary')}`)}
      <details name="${ways}">
        <summary class="button">Edit</summary>
        ${decisionForm(
          asked,
          html`<label
              >Output
              <textarea name="output" rows="10" maxlength="${ANSWER_CHARACTERS_MAX}">
${proposed}</textarea>
            </label>
            <div class="buttons">${submit('edit', 'Save the edited output', 'primary')}</div>`,
        )}
      </details>
      <details name="${ways}">
        <summary class="button danger">Reject</summary>
        ${decisionForm(
          asked,
          html`<label
              >Reason <span class="quiet">(optional)</span>
              <input name="reason" maxlength="2000" autocomplete="off" />
            </label>
            <div class="buttons">${submit('reject', 'Reject the output', 'danger')}</div>`,
        )}
      </details>
    </div>
    <p class="hint">
      Approve takes the output as it was proposed. Reject ends the run with an error. Without a
      decision in time the output counts as ${undecided === 'approve' ? 'approved' : 'rejected'}.
    </p>`
}

const decisionForm = ({ approval, path, csrfToken, back }: AskedApproval, fields: Html): Html =>
  html`<form method="post" action="${path}/approval" class="stack">
    ${csrfField(csrfToken)}
    <input type="hidden" name="task" value="${approval.task}" />
    <input type="hidden" name="back" value="${back}" />
    ${fields}
  </form>`

const submit = (decision: string, name: string, tone: string): Html =>
  html`<button class="button ${tone}" name="decision" value="${decision}">${name}</button>`
