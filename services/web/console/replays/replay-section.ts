import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listReplayedRuns } from '../../../platform/replays/replay-results.ts'
import type { ReplayedRun, ReplayedState } from '../../../platform/replays/replay-results.ts'
import type { Replay } from '../../../platform/replays/replays.ts'
import type { WebDeps } from '../../context.ts'
import { dollars } from '../frame/amounts.ts'
import { count, duration, plural, shortId } from '../frame/format.ts'
import { listTable, statePill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** More runs are listed by the API alone; those that differ come first. */
const SHOWN_MAX = 200

const STATES = {
  waiting: ['busy', 'waiting'],
  equal: ['good', 'equal'],
  different: ['bad', 'different'],
  impossible: ['waiting', 'not possible'],
} as const satisfies Record<ReplayedState, readonly [Tone, string]>

/** The state of a run of a replay, in its colour. */
export const replayedPill = (state: ReplayedState): Html => statePill(STATES[state])

interface ReplayView {
  readonly deps: WebDeps
  readonly owner: Pick<Automation, 'automationId'>
  readonly row: Replay
  /** The address of its page. */
  readonly path: string
}

/** What became of each run of a replay; the console's script asks for it until all are done. */
export async function replaySection({ deps, row, path }: ReplayView): Promise<Html> {
  const runs = await listReplayedRuns(deps.sql, row.id, deps.prices)
  const lost = row.runs - runs.length
  const rest = runs.length - SHOWN_MAX
  const isOpen = row.waiting > 0
  return html`<div data-live="${isOpen ? `${path}/live` : ''}" data-say="The replay is done">
    <section class="card flush" aria-labelledby="runs" data-part="runs">
      <div class="card-head">
        <h2 id="runs">Runs</h2>
        <span class="hint">${summaryOf(row)}</span>
        ${
          isOpen
            ? html`<a class="button small push" href="${path}" data-without-script>Refresh</a>`
            : ''
        }
      </div>
      ${runsTable(runs.slice(0, SHOWN_MAX), path)}
    </section>
    <div data-part="rest">
      ${rest > 0 ? note(`${plural(rest, 'more run')}: the API lists all.`) : ''}
      ${lost > 0 ? note(`${plural(lost, 'more run')}: deleted meanwhile.`) : ''}
    </div>
  </div>`
}

const note = (text: string): Html => html`<p class="hint">${text}</p>`

function summaryOf({ runs, waiting, equal, different, impossible }: Replay): string {
  const done = waiting > 0 ? `${runs - waiting} of ${runs} done: ` : ''
  return `${done}${equal} equal, ${different} different, ${impossible} not possible`
}

const runsTable = (runs: readonly ReplayedRun[], path: string): Html =>
  listTable(
    'Runs',
    ['Run', 'State', 'First difference', 'Tokens', 'Cost', 'Took'],
    runs.map((run) => runRow(run, path)),
  )

const runRow = (run: ReplayedRun, path: string): Html =>
  html`<tr>
    <td class="lead">
      <a class="mono" href="${path}/runs/${run.runId}" title="${run.runId}"
        >${shortId(run.runId)}</a
      >
      <span class="sub">version ${run.version ?? 'of a draft'}</span>
    </td>
    <td class="state">${replayedPill(run.state)}</td>
    <td data-label="First difference" class="row-wide break">${visibleText(run.reason ?? '–')}</td>
    <td data-label="Tokens" class="quiet wide">${tokensOf(run)}</td>
    <td data-label="Cost" class="quiet wide">${costsOf(run)}</td>
    <td data-label="Took" class="quiet wide">${timesOf(run)}</td>
  </tr>`

/** What a replay took, which nobody pays for, beside what the record says. */
export const beside = (now: string, recorded: string): Html =>
  html`${now} <span class="sub">recorded: ${recorded}</span>`

/** The tokens of a replay beside those of the record. */
export function tokensOf({ usage, recordedUsage }: ReplayedRun): Html {
  const now = usage ? count(usage.input_tokens + usage.output_tokens) : '–'
  const then = recordedUsage ? count(recordedUsage.inputTokens + recordedUsage.outputTokens) : '–'
  return beside(now, then)
}

/** The cost of the models that a replay asked beside that of the record. */
export const costsOf = ({ state, askedTokens, usd, recordedUsd }: ReplayedRun): Html =>
  beside(state === 'waiting' ? '–' : askedTokens === null ? 'none' : cost(usd), cost(recordedUsd))

const cost = (usd: number | null): string => (usd === null ? 'unknown' : dollars(usd))

/** The time of a replay beside that of the record. */
export const timesOf = ({ ms, recordedMs }: ReplayedRun): Html => beside(time(ms), time(recordedMs))

const time = (ms: number | null): string => (ms === null ? '–' : duration(ms))
