import { html } from 'hono/html'
import type { RunScore, ScoredDay } from '../../../platform/evaluations/run-scores.ts'
import { barChart } from './bar-chart.ts'
import { count, plural } from './format.ts'
import { statePill } from './parts.ts'
import type { Html, Tone } from './parts.ts'
import { visibleText } from './text/visible-text.ts'

const DAY_MS = 86_400_000
/** The days that the page of an automation shows. */
export const SCORED_DAYS = 30

const STATES = {
  waiting: ['busy', 'waiting'],
  passed: ['good', 'passed'],
  failed: ['bad', 'failed'],
  error: ['waiting', 'error'],
  skipped: ['idle', 'skipped'],
} as const satisfies Record<string, readonly [Tone, string]>

/** What the checks found of a run; nothing for one that is not scored. */
export function scoreSection(score: RunScore | undefined): Html | string {
  if (!score) return ''
  const { state, findings, reason, tokens, usd } = score
  const cost = usd === null ? 'at an unknown cost' : `${Number(usd.toFixed(4))} USD`
  return html`<section class="card" aria-labelledby="score">
    <div class="card-head">
      <h2 id="score">Score</h2>
      ${statePill(STATES[state])}
    </div>
    ${findings.length === 0 && reason !== null ? html`<p>${visibleText(reason)}</p>` : ''}
    <dl class="facts">
      ${findings.map(
        (each) =>
          html`<dt class="mono">${each.type}</dt>
            <dd class="break">
              ${statePill(STATES[each.state])} ${visibleText(each.reason ?? '')}
            </dd>`,
      )}
    </dl>
    ${tokens ? html`<p class="hint">Judges took ${plural(tokens, 'token')}, ${cost}.</p>` : ''}
  </section>`
}

/** How the scored runs of an automation did, by day; nothing where none was scored. */
export function scoresByDay(scored: readonly ScoredDay[]): Html | string {
  if (scored.length === 0) return ''
  const byDay = new Map(scored.map((each) => [each.day, each]))
  const sum = (of: 'passed' | 'failed' | 'errors') =>
    scored.reduce((total, each) => total + each[of], 0)
  const judged = sum('passed') + sum('failed')
  const share = judged === 0 ? '' : ` (${Math.floor((sum('passed') / judged) * 100)} %)`
  const bars = Array.from({ length: SCORED_DAYS }, (_, index) => {
    const at = new Date(Date.now() - (SCORED_DAYS - 1 - index) * DAY_MS)
    const day = at.toISOString().slice(0, 10)
    const { passed, failed, errors } = byDay.get(day) ?? { passed: 0, failed: 0, errors: 0 }
    return {
      label: day.slice(5),
      title: `${day}: ${count(passed)} passed, ${count(failed)} failed, ${count(errors)} errors`,
      parts: [
        { tone: 'good', count: passed },
        { tone: 'bad', count: failed },
        { tone: 'busy', count: errors },
      ] as const,
    }
  })
  return html`<section class="card" aria-labelledby="scores">
    <h2 id="scores">Scores</h2>
    ${barChart({
      bars,
      summary: `${count(sum('passed'))} of ${count(judged)} scored runs passed${share}`,
      legend: { good: 'Passed', bad: 'Failed', busy: 'Errors' },
      unit: 'Days in UTC',
    })}
  </section>`
}
