import { html } from 'hono/html'
import type { ActivityRange, RunsOfStep } from '../../../platform/runs/activity.ts'
import { barChart } from './bar-chart.ts'
import type { Bar } from './bar-chart.ts'
import { count, plural } from './format.ts'
import type { Html } from './parts.ts'

/** What a range is called, alone and in a sentence. */
export const RANGE_NAMES: Readonly<Record<ActivityRange, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
}

/** The runs of a range as stacked bars on an axis, and the same numbers as a table. */
export function activityChart(range: ActivityRange, steps: readonly RunsOfStep[]): Html {
  const all = steps.reduce((sum, step) => sum + (step.completed + step.failed + step.open), 0)
  const failed = steps.reduce((sum, step) => sum + step.failed, 0)
  const total = `${plural(all, 'run')} in the last ${RANGE_NAMES[range]}`
  return barChart({
    bars: steps.map((step) => toBar(range, step)),
    summary: `${total}, ${count(failed)} of them failed or stopped`,
    legend: { good: 'Completed', bad: 'Failed or stopped', busy: 'In progress' },
    unit: 'Times in UTC',
    table: stepsTable(range, steps),
  })
}

/** Returns the beginning of a step, as short as its range allows. */
function labelOf(range: ActivityRange, from: Date): string {
  const text = from.toISOString()
  const [day, clock] = [text.slice(5, 10), text.slice(11, 16)]
  if (range === '24h') return clock
  return range === '7d' ? `${day} ${clock}` : day
}

/** Below the axis of a week, days alone have room on a phone. */
const toBar = (range: ActivityRange, { from, completed, failed, open }: RunsOfStep): Bar => ({
  label: labelOf(range === '7d' ? '30d' : range, from),
  title:
    `${labelOf(range, from)} UTC: ${count(completed)} completed, ${count(failed)} failed or ` +
    `stopped, ${count(open)} in progress`,
  parts: [
    { tone: 'good', count: completed },
    { tone: 'bad', count: failed },
    { tone: 'busy', count: open },
  ],
})

const stepsTable = (range: ActivityRange, steps: readonly RunsOfStep[]): Html =>
  html`<table class="list tight">
    <caption class="unseen">
      Runs of the last ${RANGE_NAMES[range]}
    </caption>
    <thead>
      <tr>
        <th scope="col">From (UTC)</th>
        <th scope="col" class="number">Completed</th>
        <th scope="col" class="number">Failed or stopped</th>
        <th scope="col" class="number">In progress</th>
      </tr>
    </thead>
    <tbody>
      ${steps.map(
        ({ from, completed, failed, open }) =>
          html`<tr>
            <td class="lead">${labelOf(range, from)}</td>
            <td class="number" data-label="Completed">${count(completed)}</td>
            <td class="number" data-label="Failed or stopped">${count(failed)}</td>
            <td class="number" data-label="In progress">${count(open)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
