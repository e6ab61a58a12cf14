import { html } from 'hono/html'
import type { Approval, AskedCall } from '../../../platform/runs/run-approvals.ts'
import { ANSWER_CHARACTERS_MAX } from '../../../platform/runs/run-approvals.ts'
import type { CallQuestion } from '../../../platform/crew-contract/approval-request.ts'
import { isObject } from '../../../shared/is-object.ts'
import { questionFields } from './question-form.ts'
import { csrfField, factList, listTable, time } from './parts.ts'
import type { Html } from './parts.ts'
import { foreignText, foreignValue } from './text/foreign-text.ts'
import { indentJson, isJson } from './text/text-format.ts'
import { renderText } from './text/text-view.ts'
import { visibleText } from './text/visible-text.ts'

/** The arguments of a call that are listed; all are in its JSON. */
const ARGUMENTS_MAX = 100

/** What a run asks a person, and the page that asks. */
interface AskedApproval {
  readonly approval: Approval
  /** The address of the run. */
  readonly path: string
  readonly csrfToken: string
  /** The page that the decision leads back to. */
  readonly back: 'approvals' | 'run'
}

interface Words {
  /** What is proposed. */
  readonly what: 'output' | 'arguments'
  readonly label: string
  readonly reject: string
  readonly hint: string
}

const OF_OUTPUT: Words = {
  what: 'output',
  label: 'Output',
  reject: 'Reject the output',
  hint: 'Approve takes the output as it was proposed. Reject ends the run with an error.',
}

const OF_CALL: Words = {
  what: 'arguments',
  label: 'Arguments, as JSON',
  reject: 'Reject the call',
  hint:
    'Approve makes the call with these arguments and no others. Reject does not make it: the ' +
    'model reads the reason.',
}

/** What a person decides about or is asked, and the ways to decide. */
export function approvalForms(asked: AskedApproval): Html {
  const { call } = asked.approval
  return call?.question ? questionForms(asked, call, call.question) : decisionForms(asked)
}

/** The questions of a server in the middle of a call, all that others wrote, and the answers. */
function questionForms(asked: AskedApproval, call: AskedCall, question: CallQuestion): Html {
  const fields = questionFields(call)
  const { server, messages } = question
  const json = html`${Object.values(messages).map((each) => foreignText(each, 'Question', 'text'))}
    <label>Answers, as JSON <textarea name="output" rows="10"></textarea></label>`
  const send = submit(fields ? 'answer' : 'edit', 'Send the answers', 'primary')
  return html`${times(asked.approval)}
    <p><strong>${visibleText(server)}</strong> asks in the middle of a call:</p>
    ${decisionForm(
      asked,
      html`${fields ?? json}
        <div class="buttons">
          ${send}
          <button class="button danger" name="decision" value="reject" formnovalidate>
            Decline
          </button>
        </div>`,
    )}
    <p class="hint">
      Answers go to this server and are kept with the run: give no passwords or keys. Decline says
      to it that there is no answer, and so does the end of the time.
    </p>
    <details class="more">
      <summary>The call</summary>
      ${callView(asked, call)}
    </details>`
}

const times = ({ askedAt, decideBy }: Approval): Html =>
  factList('facts in-row', [
    ['Asked', time(askedAt)],
    ['Decide by', time(decideBy)],
  ])

/** The output or the call that a person decides about, and the ways to decide. */
function decisionForms(asked: AskedApproval): Html {
  const { runId, proposed, call, undecided } = asked.approval
  const ways = `decide-${runId}`
  const words = call ? OF_CALL : OF_OUTPUT
  const isShort = proposed.length <= ANSWER_CHARACTERS_MAX
  const text = call && isShort && isJson(proposed) ? indentJson(proposed) : proposed
  return html`${times(asked.approval)} ${call ? callView(asked, call) : outputView(proposed)}
    <div class="decisions">
      ${decisionForm(asked, html`${submit('approve', 'Approve', 'primary')}`)}
      ${
        call && text.length > ANSWER_CHARACTERS_MAX
          ? ''
          : html`<details name="${ways}">
              <summary class="button">Edit</summary>
              ${decisionForm(
                asked,
                html`<label
                    >${words.label}
                    <textarea name="output" rows="10" maxlength="${ANSWER_CHARACTERS_MAX}">
${text}</textarea>
                  </label>
                  <div class="buttons">
                    ${submit('edit', `Save the edited ${words.what}`, 'primary')}
                  </div>`,
              )}
            </details>`
      }
      <details name="${ways}">
        <summary class="button danger">Reject</summary>
        ${decisionForm(
          asked,
          html`<label
              >Reason <span class="quiet">(optional)</span>
              <input name="reason" maxlength="2000" autocomplete="off" />
            </label>
            <div class="buttons">${submit('reject', words.reject, 'danger')}</div>`,
        )}
      </details>
    </div>
    <p class="hint">
      ${words.hint} Without a decision in time the ${call ? 'call' : 'output'} counts as
      ${undecided === 'approve' ? 'approved' : 'rejected'}.
    </p>`
}

const outputView = (proposed: string): Html =>
  html`<div class="output" tabindex="0" role="group" aria-label="Proposed output">
    ${proposed.trim() ? renderText(proposed) : html`<p class="hint">The output is empty.</p>`}
  </div>`

/** A function with the arguments that a model wants to call it with, all that others wrote. */
function callView({ approval, path }: AskedApproval, call: AskedCall): Html {
  const { task, proposed } = approval
  const given: unknown = isJson(proposed) ? JSON.parse(proposed) : {}
  const entries = isObject(given) ? Object.entries(given).slice(0, ARGUMENTS_MAX) : []
  return html`${factList('pairs', [
      ['Task', task],
      ['Tool', html`<span class="mono">${call.tool}</span>`],
      ['Description', foreignValue(call.description, 'Description')],
    ])}
    ${listTable(
      'Arguments',
      ['Argument', 'Value'],
      entries.map(
        ([name, value]) =>
          html`<tr>
            <td class="mono">${visibleText(name)}</td>
            <td>
              ${foreignValue(typeof value === 'string' ? value : JSON.stringify(value), name)}
            </td>
          </tr>`,
      ),
    )}
    <details class="more">
      <summary>Arguments as JSON</summary>
      ${foreignText(proposed, 'Arguments as JSON')}
      <a class="button small" href="${path}/approval.json">Download</a>
    </details>`
}

const decisionForm = ({ approval, path, csrfToken, back }: AskedApproval, fields: Html): Html =>
  html`<form method="post" action="${path}/approval" class="stack">
    ${csrfField(csrfToken)}
    <input type="hidden" name="task" value="${approval.task}" />
    ${approval.call ? html`<input type="hidden" name="call" value="${approval.call.id}" />` : ''}
    <input type="hidden" name="back" value="${back}" />
    ${fields}
  </form>`

const submit = (decision: string, name: string, tone: string): Html =>
  html`<button class="button ${tone}" name="decision" value="${decision}">${name}</button>`
