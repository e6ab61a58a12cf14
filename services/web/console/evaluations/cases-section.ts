import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { CaseSet } from '../../../platform/evaluations/case-sets.ts'
import { listCases } from '../../../platform/evaluations/cases.ts'
import type { Case } from '../../../platform/evaluations/cases.ts'
import { runPath } from '../frame/addresses.ts'
import { count, shortId } from '../frame/format.ts'
import { csrfField, emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import type { View } from '../../resources/declaration.ts'

const SHOWN = 50
const TEXT_MAX = 200

/** The cases of a set, some at a time, and the ways to add more. */
export async function casesSection(view: View<Automation, CaseSet>): Promise<Html> {
  const { c, sql, row, path } = view
  const given = c.req.query('after') ?? ''
  const after = /^\d{1,15}$/.test(given) ? Number(given) : -1
  const cases = await listCases(sql, row, { after, limit: SHOWN + 1 })
  const last = cases.length > SHOWN ? cases[SHOWN - 1] : undefined
  return html`<section class="card flush" aria-labelledby="cases">
      <div class="card-head">
        <h2 id="cases">Cases</h2>
        <span class="hint">${count(row.size)}</span>
        <a class="button small push" href="${path}/cases.jsonl">JSON lines</a>
        <a class="button small" href="${path}/cases.csv">CSV</a>
      </div>
      ${
        cases.length === 0
          ? emptyState('check', 'No cases', 'Add some below, or on the page of a run.')
          : casesTable(cases.slice(0, SHOWN), view)
      }
    </section>
    ${last ? html`<p><a href="${path}?after=${last.position}">More cases</a></p>` : ''}
    ${addForms(view)}`
}

const casesTable = (cases: readonly Case[], view: View<Automation, CaseSet>): Html =>
  listTable(
    'Cases',
    ['Case', 'Inputs', 'Expected', ['unseen', 'Actions']],
    cases.map((each) => caseRow(each, view)),
  )

const cut = (text: string) =>
  visibleText(text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)} …` : text)

const caseRow = (
  { id, name, inputs, expected, runId }: Case,
  { session, owner, path }: View<Automation, CaseSet>,
): Html =>
  html`<tr>
    <td class="lead break">
      ${name === null ? html`<span class="mono">${shortId(id)}</span>` : visibleText(name)}
      ${
        runId === null
          ? ''
          : html`<a class="sub" href="${runPath(owner, { id: runId })}">run ${shortId(runId)}</a>`
      }
    </td>
    <td data-label="Inputs" class="row-wide break mono">${cut(JSON.stringify(inputs))}</td>
    <td data-label="Expected" class="row-wide break">${expected === null ? '–' : cut(expected)}</td>
    <td>
      <form method="post" action="${path}/cases/${id}/delete">
        ${csrfField(session.csrfToken)}
        <button class="button small" aria-label="Delete the case ${name ?? shortId(id)}">
          Delete
        </button>
      </form>
    </td>
  </tr>`

const addForms = ({ session, path }: View<Automation, CaseSet>): Html =>
  html`<section class="card" aria-labelledby="add-runs">
      <div class="card-head"><h2 id="add-runs">Add runs</h2></div>
      <form method="post" action="${path}/from-runs" class="stack">
        ${csrfField(session.csrfToken)}
        <label
          >Newest runs
          <input type="number" name="last" min="1" max="1000" value="20" required />
        </label>
        <label
          >Which
          <select name="which">
            <option value="any">All that have ended</option>
            <option value="completed">Completed</option>
            <option value="error">Failed</option>
            <option value="bad">Rated bad</option>
            <option value="good">Rated good</option>
          </select>
        </label>
        <label class="tick">
          <input type="checkbox" name="with_expected" value="yes" /> Their outputs are what is
          expected
        </label>
        <div><button class="button">Add the runs</button></div>
      </form>
    </section>
    <section class="card" aria-labelledby="add-cases">
      <div class="card-head"><h2 id="add-cases">Add cases</h2></div>
      <form method="post" action="${path}/import" class="stack">
        ${csrfField(session.csrfToken)}
        <label
          >Form
          <select name="format">
            <option value="jsonl">JSON lines</option>
            <option value="csv">CSV, with the names of inputs in its first line</option>
          </select>
        </label>
        <label
          >Cases
          <textarea
            class="mono"
            name="cases"
            rows="5"
            required
            spellcheck="false"
            placeholder='{"inputs": {"topic": "tides"}, "expected": "The moon"}'
          ></textarea>
          <span class="field-hint">Files of up to 16 MiB are taken by the API.</span>
        </label>
        <div><button class="button">Add the cases</button></div>
      </form>
    </section>`
