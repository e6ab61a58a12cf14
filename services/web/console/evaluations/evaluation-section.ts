import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listChanged, listResults } from '../../../platform/evaluations/evaluation-results.ts'
import type {
  CaseOutcome,
  ChangedCase,
  ResultState,
} from '../../../platform/evaluations/evaluation-results.ts'
import type { Evaluation } from '../../../platform/evaluations/evaluations.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { count, duration, plural, shortId } from '../frame/format.ts'
import { emptyState, listTable, pill, statePill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { scoresSection } from './scores-table.ts'

/** More are listed by the API and in the CSV. */
const SHOWN = 50

const STATES = {
  waiting: ['busy', 'waiting'],
  passed: ['good', 'passed'],
  failed: ['bad', 'failed'],
  error: ['waiting', 'error'],
} as const satisfies Record<ResultState, readonly [Tone, string]>

interface EvaluationView {
  readonly sql: Database
  readonly owner: Pick<Automation, 'automationId'>
  readonly row: Evaluation
  /** The address of its page. */
  readonly path: string
}

/** What an evaluation found; the console's script asks for it until all is done. */
export async function evaluationSection({ sql, row, path }: EvaluationView): Promise<Html> {
  const isOpen = row.finishedAt === null
  const changed = row.against === null || isOpen ? [] : await listChanged(sql, row.id, SHOWN)
  const page = { after: -1, limit: SHOWN }
  const [failed, errors, passed] = await Promise.all(
    (['failed', 'error', 'passed'] as const).map((state) =>
      listResults(sql, row.id, { ...page, state }),
    ),
  )
  const results = [...(failed ?? []), ...(errors ?? []), ...(passed ?? [])].slice(0, SHOWN)
  return html`<div data-live="${isOpen ? `${path}/live` : ''}" data-say="The evaluation is done">
    <div data-part="scores">
      ${row.scores ? scoresSection({ evaluation: row, scores: row.scores }) : progress(row, path)}
    </div>
    <div data-part="changed">${changed.length > 0 ? changedSection(changed, row) : ''}</div>
    <section class="card flush" aria-labelledby="runs" data-part="runs">
      <div class="card-head">
        <h2 id="runs">Runs of the cases</h2>
        <span class="hint">
          ${row.runs > SHOWN ? `${SHOWN} of ${count(row.runs)}, those that failed first` : ''}
        </span>
        <a class="button small push" href="${path}/runs.csv">CSV</a>
      </div>
      ${
        results.length === 0
          ? emptyState('check', 'Nothing is done yet', 'Results are shown as they arrive.')
          : listTable('Runs', ['Case', 'State', 'Output', 'Took'], results.map(resultRow))
      }
    </section>
  </div>`
}

const progress = ({ runs, waiting, finishedAt }: Evaluation, path: string): Html | string =>
  finishedAt
    ? ''
    : html`<p class="hint">
        ${count(Math.max(0, runs - waiting))} of ${plural(runs, 'run')} done.
        <a href="${path}" data-without-script>Refresh</a>
      </p>`

/** So short that it need not be broken: the output beside it takes all the room that it gets. */
const INPUTS_MAX = 40

function inputsText(inputs: object): Html | string {
  const text = JSON.stringify(inputs)
  return visibleText(text.length > INPUTS_MAX ? `${text.slice(0, INPUTS_MAX)} …` : text)
}

const changedSection = (changed: readonly ChangedCase[], row: Evaluation): Html =>
  html`<section class="card flush" aria-labelledby="changes">
    <div class="card-head">
      <h2 id="changes">Cases that changed side</h2>
      <span class="hint"
        >The first ${SHOWN}; those that only version ${row.against} passes first</span
      >
    </div>
    ${listTable(
      'Cases that changed side',
      ['Case', 'Change', 'Why'],
      changed.map(
        ({ caseId, name, inputs, isBetter, reason }) =>
          html`<tr>
            <td class="lead">
              ${visibleText(name ?? shortId(caseId))}
              <span class="sub mono">${inputsText(inputs)}</span>
            </td>
            <td class="state">${isBetter ? pill('good', 'better') : pill('bad', 'worse')}</td>
            <td data-label="Why" class="row-wide break">${visibleText(reason ?? '–')}</td>
          </tr>`,
      ),
    )}
  </section>`

const resultRow = (result: CaseOutcome): Html =>
  html`<tr>
    <td class="lead">
      <span class="break">${visibleText(result.name ?? shortId(result.caseId))}</span>
      <span class="sub mono">${inputsText(result.inputs)}</span>
      <span class="sub">version ${result.version}</span>
    </td>
    <td class="state">${statePill(STATES[result.state])}</td>
    <td data-label="Output" class="row-wide break">
      ${result.reason === null ? '' : html`<p>${visibleText(result.reason)}</p>`}
      ${visibleText((result.output ?? '').slice(0, 500))}
    </td>
    <td data-label="Took" class="quiet wide">
      ${result.ms === null ? '–' : duration(result.ms)}
      <span class="sub">${plural(result.tokens ?? 0, 'token')}</span>
    </td>
  </tr>`
