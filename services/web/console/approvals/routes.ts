import type { Hono } from 'hono'
import { DECISIONS } from '../../../platform/approvals/approval-decisions.ts'
import {
  ANSWER_CHARACTERS_MAX,
  decideApproval,
  findApproval,
  listApprovals,
} from '../../../platform/runs/run-approvals.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { sendFile } from '../../http/send-file.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnRun } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedApproval } from '../../../platform/runs/run-approvals.ts'
import { approvalForms } from '../frame/approval-forms.ts'
import { readAnswers } from '../frame/question-form.ts'
import { plural, pretty, shortId } from '../frame/format.ts'
import { fileText } from '../frame/input-field.ts'
import { page } from '../frame/layout.ts'
import { foreignValue } from '../frame/text/foreign-text.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { emptyState, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Serves what waits for the people of an organization, and takes their decisions. */
export function approvalRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'approval-decided': 'The decision is saved. The run continues.',
  })

  room.page('viewer', '/approvals', async (c) => {
    const approvals = await listApprovals(sql, c.var.session.user.organizationId)
    return c.html(approvalsPage({ session: c.var.session, approvals, notice: c.var.notice }))
  })

  const path = '/automations/:automationId/executions/:kickoffId/approval'
  room.form('editor', path, async (c) => {
    const { automation, run } = await getOwnRun(c, sql)
    const { user } = c.var.session
    const fields = c.var.form
    const { decision, text } = await readDecision(sql, run.id, fields)
    const refuse = async (problem: string, status: 409 | 422) => {
      const approvals = await listApprovals(sql, user.organizationId)
      return c.html(approvalsPage({ session: c.var.session, approvals, problem }), status)
    }
    if (!decision) return refuse('Choose whether to approve, edit or reject.', 422)
    if ((text?.length ?? 0) > ANSWER_CHARACTERS_MAX) {
      return refuse(`It must have at most ${ANSWER_CHARACTERS_MAX} characters.`, 422)
    }
    const task = fields.get('task') ?? ''
    const call = fields.get('call') ?? undefined
    const asked = { deploymentId: automation.id, runId: run.id, task, call, decision, text }
    try {
      const entry = runEntry('approval_decided', run.id, { task, call, decision })
      await audited(c.var, (tx) => decideApproval(tx, { ...asked, userId: user.id }), entry)
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      if (thrown.code === 'conflict') return refuse(thrown.message, 409)
      if (thrown.code === 'unprocessable') return refuse(thrown.message, 422)
      throw thrown
    }
    c.var.wide['kickoff_id'] = run.id
    const back = fields.get('back') === 'run' ? runPath(automation, run) : '/approvals'
    return c.redirect(`${back}?notice=approval-decided`, 303)
  })

  room.page('viewer', `${path}.json`, async (c) => {
    const { run } = await getOwnRun(c, sql)
    const approval = await findApproval(sql, run.id)
    if (!approval?.call) throw new AppError('not_found', 'The run asks about no call of a tool.')
    return sendFile(c, { name: 'arguments.json', content: approval.proposed })
  })

  return room.routes
}

/** Answers to a question are an edit by the fields that the question has. */
async function readDecision(sql: Database, runId: string, fields: URLSearchParams) {
  const given = fields.get('decision')
  if (given === 'answer') {
    const call = (await findApproval(sql, runId))?.call
    return { decision: 'edit', text: call ? readAnswers(call, fields) : '' } as const
  }
  const decision = DECISIONS.find((each) => each === given)
  return { decision, text: decision && textOf(fields, decision) }
}

/** Browsers end the lines of a text with CR LF. */
function textOf(fields: URLSearchParams, decision: string): string | undefined {
  const field = { edit: 'output', reject: 'reason' }[decision]
  const text = field === undefined ? '' : (fields.get(field) ?? '').replaceAll('\r\n', '\n')
  return text.trim() === '' && decision !== 'edit' ? undefined : text
}

/** What waits for the people of an organization. */
interface ApprovalsPage {
  readonly session: Session
  readonly approvals: readonly ListedApproval[]
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** The outputs of tasks that people decide about. */
function approvalsPage({ session, approvals, notice, problem }: ApprovalsPage): Html {
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
                'Runs wait here when a task (human_input) or a tool (approve) asks a person.',
              )}
            </section>`
      }`,
  )
}

function approvalSection({ csrfToken }: Session, approval: ListedApproval): Html {
  const { automationId, automationName, runId, task, call } = approval
  const path = runPath({ automationId }, { id: runId })
  const [heading, run] = [`approval-${runId}`, `run-${runId}`]
  return html`<section class="card" aria-labelledby="${heading} ${run}">
    <div class="card-head">
      <h2 id="${heading}">${automationName}: <span class="mono">${call?.name ?? task}</span></h2>
      <a id="${run}" href="${path}" title="${runId}">Run&nbsp;${shortId(runId)}</a>
    </div>
    <div class="columns">
      <div>${approvalForms({ approval, path, csrfToken, back: 'approvals' })}</div>
      <div>${inputsOf(approval, path)} ${doneBefore(approval)}</div>
    </div>
  </section>`
}

function inputsOf({ inputs }: ListedApproval, path: string): Html {
  const entries = Object.entries(inputs ?? {})
  return html`<h3>Inputs</h3>
    ${
      inputs === null
        ? html`<p class="hint">They are long: <a href="${path}#inputs">the run has them</a>.</p>`
        : entries.length === 0
          ? html`<p class="hint">None</p>`
          : valueList(entries.map(([name, value]) => [name, fileText(value) ?? pretty(value)]))
    }`
}

const doneBefore = ({ done }: ListedApproval): Html | string =>
  done.length === 0
    ? ''
    : html`<h3>Previous tasks</h3>
        ${valueList(done.map(({ task, output }) => [task, output]))}`

const valueList = (values: readonly (readonly [name: string, text: string])[]): Html =>
  html`<dl class="facts">
    ${values.map(
      ([name, text]) =>
        html`<dt class="mono">${visibleText(name)}</dt>
          <dd>${foreignValue(text, name)}</dd>`,
    )}
  </dl>`
