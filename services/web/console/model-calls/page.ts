import { html } from 'hono/html'
import type { CaseSet } from '../../../platform/evaluations/case-sets.ts'
import type { Written } from '../../../platform/model-calls/change-definition.ts'
import type { CallAnswer, RecordedCall } from '../../../platform/model-calls/recorded-call.ts'
import { shownPath } from '../../../platform/crew-contract/step-key.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import type { Failure } from '../../../platform/runs/runs.ts'
import type { StepUsage } from '../../../platform/crew-contract/crew-protocol.ts'
import type { LlmCall } from '../../../shared/models/llm-call.ts'
import { runPath } from '../frame/addresses.ts'
import { dollars } from '../frame/amounts.ts'
import { count, duration, plural, shortId } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { csrfField, factList, problemBox, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { diffCounts, diffView } from '../frame/text/diff-view.ts'
import { foreignText } from '../frame/text/foreign-text.ts'
import { diffLines } from '../frame/text/line-diff.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { callFields } from './form.ts'
import type { TriedCall } from '../../model-calls/try-call.ts'

/** A recorded call, and what was made of it. */
export interface CallPage {
  readonly session: Session
  /** Its own address, which takes its form. */
  readonly path: string
  readonly recorded: RecordedCall
  readonly run: RunRecord | undefined
  readonly models: readonly string[]
  readonly sets: readonly CaseSet[]
  /** At the prices of today. */
  readonly recordedUsd: number | null
  readonly changed?: LlmCall | undefined
  readonly tried?: TriedCall | undefined
  /** What becomes of the definition, or why it cannot be changed like this. */
  readonly written?: Written | undefined
  readonly problem?: string | undefined
}

/** The page on which a recorded call of a model is changed and made again. */
export function callPage(page: CallPage): Html {
  const { session, recorded, run, path, problem } = page
  const trace = path.replace(/\/spans\/.*/, '')
  const isOfTrace = trace !== path
  return frame(
    {
      title: 'Try a call again',
      session,
      current: isOfTrace ? '/traces' : '/executions',
    },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        ${run ? html`<a href="${runPath(run, run)}">Run ${shortId(run.id)}</a>` : ''}
        ${isOfTrace ? html`<a href="${trace}">Trace</a>` : ''}
      </nav>
      <div class="page-head">
        <div>
          <h1>Try a call again</h1>
          <p class="hint break">
            ${visibleText(recorded.model)} ·
            <span class="mono">${visibleText(shownPath(recorded.path))}</span>
          </p>
        </div>
      </div>
      ${problemBox(problem && visibleText(problem))} ${answers(page)} ${requestForm(page)}`,
  )
}

interface Side {
  readonly title: string
  readonly answer: CallAnswer | null
  readonly error: Failure | null
  readonly usage: StepUsage | null
  readonly usd: number | null
  readonly ms: number | null
}

function answers({ recorded, recordedUsd, tried }: CallPage): Html {
  const then = side({ title: 'Recorded answer', ...recorded, usd: recordedUsd })
  if (!tried) return then
  const lines = diffLines(answerText(recorded.answer), answerText(tried.answer))
  const isSame = lines.every(({ kind }) => kind === 'same')
  return html`<div class="two">${then} ${side({ title: 'New answer', ...tried })}</div>
    <section class="card" aria-labelledby="difference">
      <div class="card-head">
        <h2 id="difference">Difference</h2>
        <span class="hint">${isSame ? 'None' : diffCounts(lines)}</span>
      </div>
      ${isSame ? '' : diffView(lines, 'The answers')}
    </section>`
}

function side({ title, answer, error, usage, usd, ms }: Side): Html {
  const id = title.toLowerCase().replace(' ', '-')
  const tokens = usage
    ? `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out`
    : 'not known'
  return html`<section class="card" aria-labelledby="${id}">
    <div class="card-head"><h2 id="${id}">${title}</h2></div>
    ${error ? problemBox(visibleText(error.message)) : ''}
    ${
      answer
        ? foreignText(answerText(answer), title)
        : error
          ? ''
          : html`<p class="hint">The record has no answer.</p>`
    }
    ${factList('facts in-row', [
      ['Tokens', tokens],
      ['Cost', usd === null ? 'not known' : dollars(usd)],
      ['Time', ms === null ? 'not known' : duration(ms)],
    ])}
  </section>`
}

/** Writes an answer as people compare it: its text, then the calls of tools. */
function answerText(answer: CallAnswer | null): string {
  if (!answer) return ''
  const calls = answer.toolCalls.map(({ name, arguments: given }) => `Calls ${name}: ${given}`)
  return [...(answer.text === '' ? [] : [answer.text]), ...calls].join('\n')
}

function requestForm(page: CallPage): Html {
  const { recorded, session, path, models, changed, tried } = page
  const { asked } = recorded
  if ('why' in asked) return warningBox(`This call cannot be made again. ${asked.why}`)
  const call = changed ?? asked.call
  return html`<form method="post" action="${path}" class="stack">
    ${csrfField(session.csrfToken)} ${tried ? nextSteps(page, tried) : ''}
    <section class="card" aria-labelledby="request">
      <div class="card-head"><h2 id="request">Request</h2></div>
      ${images(asked.images)}
      ${
        models.includes(call.model)
          ? ''
          : warningBox(
              html`Calls are made from here by LLM connections, and your organization has none for
                ${visibleText(call.model)}.
                ${models.length === 0 ? '' : 'Choose a model that has one, or add it:'}
                <a href="/llm-connections">LLM connections</a>`,
            )
      }
      <div class="stack">${callFields(asked.call, call, models)}</div>
      <div class="buttons">
        <button class="button primary" name="do" value="send">Send it</button>
      </div>
      <p class="hint">
        The call is made by your organization’s LLM connection for the model, is paid for, and
        counts toward the budgets. No tool is called, and the answer is not kept.
      </p>
    </section>
  </form>`
}

const images = (number: number): Html | string =>
  number === 0
    ? ''
    : warningBox(`The call had ${plural(number, 'image')}: records keep none, and none is sent.`)

/** What is made of an answer: the fields of the request go with it. */
function nextSteps({ sets, run, written }: CallPage, { answer }: TriedCall): Html | string {
  if (!answer) return ''
  return html`<section class="card" aria-labelledby="next">
    <div class="card-head"><h2 id="next">Make something of it</h2></div>
    <input type="hidden" name="answer" value="${answer.text}" />
    ${versionButtons(written)}
    ${
      run === undefined
        ? html`<p class="hint">
            The trace is of no run here: there are no inputs that a case could have.
          </p>`
        : sets.length === 0
          ? html`<p class="hint">
              The automation has no set of cases.
              <a href="/automations/${run.automationId}/case-sets">Create one</a>
            </p>`
          : caseFields(sets)
    }
  </section>`
}

function versionButtons(written: Written | undefined): Html {
  if (!written || 'definition' in written) {
    return html`<div class="buttons">
      <button class="button" name="do" value="version">Write a version with it</button>
    </div>`
  }
  return html`${warningBox(`${written.problem}`)}
    <div class="buttons">
      <button class="button" name="do" value="parameters">
        Write a version with the model and its parameters
      </button>
    </div>`
}

const caseFields = (sets: readonly CaseSet[]): Html =>
  html`<div class="row">
      <label class="grow"
        >Set of cases
        <select name="set">
          ${sets.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
        </select>
      </label>
      <button class="button" name="do" value="case">Make a case of it</button>
    </div>
    <label class="tick">
      <input type="checkbox" name="with_expected" value="yes" checked /> The new answer is the
      output that is expected of the run
    </label>`
