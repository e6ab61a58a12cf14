import { html } from 'hono/html'
import type { Verdict } from '../../../platform/evaluations/publish-through-gates.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runPath } from '../frame/addresses.ts'
import { shortId } from '../frame/format.ts'
import { csrfField, listTable, statePill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { digestOf } from './editor/definition-form.ts'
import { versionPath } from './own-project.ts'

const STATES = {
  passed: ['good', 'passed'],
  started: ['busy', 'started'],
  pending: ['busy', 'in progress'],
  refused: ['bad', 'refused'],
} as const satisfies Record<Verdict['state'], readonly [Tone, string]>

interface Judged {
  readonly session: Session
  readonly project: Project
  readonly version: Version
}

/** What the gates say of a version that is not published, and the way past them. */
export function verdictSection(view: Judged, verdicts: readonly Verdict[]): Html {
  const isRefused = verdicts.some(({ state }) => state === 'refused')
  return html`<section class="card failed" role="alert" aria-labelledby="gates">
    <div class="card-head">
      <h2 id="gates">${isRefused ? 'A gate refuses it' : 'It waits for its gates'}</h2>
    </div>
    <p>
      ${
        isRefused
          ? 'It is not published. Change it, or its cases, and publish it again.'
          : 'It is not published yet. Publish it again when evaluations and replays are done.'
      }
    </p>
    ${listTable('Gates', ['Gate', 'State', 'Why', 'Cases or runs'], verdicts.map(verdictRow))}
    ${isRefused && view.session.role === 'admin' ? overrideForm(view) : ''}
  </section>`
}

function placeOf({ automationId, evaluationId, replayId }: Verdict): string | undefined {
  const path = `/automations/${automationId}`
  if (evaluationId !== null) return `${path}/evaluations/${evaluationId}`
  return replayId === null ? undefined : `${path}/replays/${replayId}`
}

function verdictRow(verdict: Verdict): Html {
  const { set, automationId, state, reason, cases, runs } = verdict
  const [name, place] = [set ?? 'The newest runs', placeOf(verdict)]
  return html`<tr>
    <td class="lead break">${place === undefined ? name : html`<a href="${place}">${name}</a>`}</td>
    <td class="state">${statePill(STATES[state])}</td>
    <td data-label="Why" class="row-wide break">${reason}</td>
    <td data-label="Cases or runs" class="row-wide break">
      ${cases.map(
        ({ caseId, name: called, reason: why }) =>
          html`<p>${visibleText(`${called ?? shortId(caseId)}: ${why ?? ''}`)}</p>`,
      )}
      ${runs.map(
        ({ kickoffId: id, reason: why }) =>
          html`<p>
            <a href="${runPath({ automationId }, { id })}">${shortId(id)}</a>: ${visibleText(why)}
          </p>`,
      )}
    </td>
  </tr>`
}

const overrideForm = ({ session, project, version }: Judged): Html =>
  html`<form
    method="post"
    action="${versionPath(project, version.number)}/publish/override"
    class="stack"
  >
    ${csrfField(session.csrfToken)}
    <input type="hidden" name="since" value="${digestOf(version.definition)}" />
    <label
      >Publish it all the same, because
      <input name="reason" maxlength="1000" required autocomplete="off" />
      <span class="field-hint">The audit keeps the reason.</span>
    </label>
    <div><button class="button danger">Publish in spite of the gates</button></div>
  </form>`
