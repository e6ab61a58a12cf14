import { html } from 'hono/html'
import type { Evaluation } from '../../../platform/evaluations/evaluations.ts'
import type { Scores } from '../../../platform/evaluations/scores.ts'
import type { Estimate } from '../../../platform/evaluations/statistics.ts'
import { dollars } from '../frame/amounts.ts'
import { barChart } from '../frame/bar-chart.ts'
import { count, duration } from '../frame/format.ts'
import { listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const shown = (share: number): string => (share * 100).toFixed(1).replace(/\.0$/, '')

/** Writes a share with its interval: `92 % (84–96.5)`. */
export const percent = ({ value, low, high }: Estimate): string =>
  `${shown(value)} % (${shown(low)}–${shown(high)})`

interface Scored {
  readonly evaluation: Evaluation
  readonly scores: Scores
}

/** What both versions made of the cases, as a table and a small chart. */
export function scoresSection({ evaluation, scores }: Scored): Html {
  const { version, against } = evaluation
  const sides = [
    [version, scores.version],
    ...(scores.against && against !== null ? [[against, scores.against] as const] : []),
  ] as const
  const { difference } = scores
  return html`<section class="card flush" aria-labelledby="scores">
    <div class="card-head"><h2 id="scores">Scores</h2></div>
    ${listTable(
      'Scores',
      ['Version', 'Passed', 'Share', 'Unsteady', 'Errors', 'Tokens', 'Cost', 'A run'],
      sides.map(
        ([number, side]) =>
          html`<tr>
            <td class="lead">Version ${number}</td>
            <td data-label="Passed">${count(side.passed)} of ${count(side.cases)}</td>
            <td data-label="Share">${percent(side.share)}</td>
            <td data-label="Unsteady">${count(side.flaky)}</td>
            <td data-label="Errors">${count(side.errors)}</td>
            <td data-label="Tokens" class="wide">${count(side.tokens)}</td>
            <td data-label="Cost" class="wide">${side.usd === null ? '–' : dollars(side.usd)}</td>
            <td data-label="A run" class="wide">
              ${side.seconds === null ? '–' : duration(side.seconds * 1000)}
            </td>
          </tr>`,
      ),
    )}
    ${
      difference &&
      html`<p class="card-text">
        Version ${version} passes ${count(difference.better)} cases that version ${against} does
        not, and fails ${count(difference.worse)} that it passes. The difference is
        ${percent(difference.share)}.
      </p>`
    }
    ${barChart({
      bars: sides.map(([number, { passed, cases }]) => ({
        label: `v${number}`,
        title: `Version ${number}: ${passed} of ${cases} passed`,
        parts: [
          { tone: 'good', count: passed },
          { tone: 'bad', count: cases - passed },
        ],
      })),
      summary: sides
        .map(([number, { passed, cases }]) => `Version ${number}: ${passed} of ${cases} passed`)
        .join('. '),
      legend: { good: 'passed', bad: 'not passed' },
      unit: 'Cases',
    })}
  </section>`
}
