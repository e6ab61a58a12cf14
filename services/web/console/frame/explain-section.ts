import { html } from 'hono/html'
import type { Explanation } from '../../gate/access-token/explain-token.ts'
import { listAutomations } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import type { Page } from '../../../shared/postgres/paging.ts'
import { csrfField, emptyState, pill, problemBox } from './parts.ts'
import type { Html } from './parts.ts'

/** With more automations than this, people enter the id rather than choose from a list. */
const AUTOMATIONS_OFFERED = 100

/** The explanation of a pasted token, without the token itself, or why there is none. */
export type ExplainedToken = { readonly explanation: Explanation } | { readonly problem: string }

interface ExplainView {
  readonly session: Session
  /** The page; the form is posted to `/explain` below it. */
  readonly path: string
  readonly explained?: ExplainedToken | undefined
}

/** An explanation with the automation that was chosen. */
export type ForAutomation = ExplainedToken & { readonly automationId: string }

/** The result of each rule for a pasted token, and the form. The token itself is shown nowhere. */
export async function explainSection(
  sql: Queryable,
  { session, path }: Pick<ExplainView, 'session' | 'path'>,
  explained?: ForAutomation,
): Promise<Html> {
  const { organizationId } = session.user
  const automations = await listAutomations(sql, organizationId, { limit: AUTOMATIONS_OFFERED })
  const chosen = explained?.automationId ?? ''
  return automations.total === 0
    ? explainCard(
        explained,
        emptyState('automations', 'No automations yet', 'A token is checked against one of them.'),
      )
    : explainFormCard(
        { session, path, explained },
        { label: 'Access token', choice: automationField(automations, chosen) },
      )
}

/** The result of each rule for a pasted token, and the form, with what else there is to choose. */
export const explainFormCard = (
  view: ExplainView,
  asked: { readonly label: string; readonly choice?: Html },
): Html => explainCard(view.explained, explainForm(view, asked))

function explainCard(explained: ExplainedToken | undefined, form: Html): Html {
  const explanation = explained && 'explanation' in explained ? explained.explanation : undefined
  return html`<section class="card flush" id="explain" aria-labelledby="explain-title">
    <div class="card-head">
      <h2 id="explain-title">Explain a token</h2>
      ${explanation ? verdict(explanation) : ''}
    </div>
    ${explanation ? rulesTable(explanation) : ''} ${form}
  </section>`
}

const verdict = ({ reason }: Explanation): Html =>
  reason ? pill('bad', 'refused') : pill('good', 'accepted')

function rulesTable({ rules, hints }: Explanation): Html {
  return html`<table class="list tight rules">
      <caption class="unseen">
        Each rule with its result
      </caption>
      <thead>
        <tr>
          <th scope="col">Rule</th>
          <th scope="col">In the token</th>
          <th scope="col">Expected</th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        ${rules.map(
          ({ name, reason, seen, expected }) =>
            html`<tr>
              <td class="lead">
                ${name}${reason ? html`<span class="sub mono">${reason}</span>` : ''}
              </td>
              <td class="value row-wide" data-label="In the token">${seen}</td>
              <td class="value row-wide" data-label="Expected">${expected}</td>
              <td class="state">${reason ? pill('bad', 'failed') : pill('good', 'passed')}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${
      hints.length > 0
        ? html`<div class="card-foot">
            <ul class="hints" aria-label="What to do">
              ${hints.map((hint) => html`<li>${hint}</li>`)}
            </ul>
          </div>`
        : ''
    }`
}

/** A list to choose from; a field for the id when the organization has more than are offered. */
function automationField({ items, total }: Page<Automation>, chosen: string): Html {
  if (items.length < total) {
    return html`<label class="grow"
      >Automation ID
      <input
        class="mono"
        name="automation_id"
        value="${chosen}"
        placeholder="From the page of the automation"
        autocomplete="off"
        spellcheck="false"
        required
      />
    </label>`
  }
  return html`<label class="grow"
    >Automation
    <select name="automation_id">
      ${items.map(
        ({ automationId, name }) =>
          html`<option value="${automationId}" ${automationId === chosen ? html`selected` : ''}>
            ${name}
          </option>`,
      )}
    </select>
  </label>`
}

function explainForm(
  { session, path, explained }: ExplainView,
  { label, choice = html`` }: { readonly label: string; readonly choice?: Html },
): Html {
  const problem = explained && 'problem' in explained ? explained.problem : undefined
  return html`<form method="post" action="${path}/explain#explain" class="card-foot">
    ${csrfField(session.csrfToken)} ${problemBox(problem)}
    <div class="stack">
      <label
        >${label}
        <textarea
          name="token"
          rows="4"
          required
          spellcheck="false"
          autocomplete="off"
          placeholder="eyJhbGciOi…"
        ></textarea>
      </label>
      <p class="field-hint">
        Checked against the saved settings. The token is neither stored nor logged.
      </p>
      <div class="row">
        ${choice}
        <button class="button">Explain</button>
      </div>
    </div>
  </form>`
}

const TOKEN_LENGTH_MAX = 20_000

/** Reads the token of the form; undefined unless there is one. */
export function readPasted(form: URLSearchParams): string | undefined {
  // People copy the whole header, and line breaks with it.
  const token = (form.get('token') ?? '').trim().replace(/^(authorization:\s*)?bearer\s+/i, '')
  return token === '' || token.length > TOKEN_LENGTH_MAX ? undefined : token
}
