import { html } from 'hono/html'
import type { HourOfRuns } from '../../../platform/activity.ts'
import { barChart } from '../frame/bar-chart.ts'
import type { Bar } from '../frame/bar-chart.ts'
import { count, plural } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'

/** The runs of the last hours as stacked bars on an axis, and the same numbers as a table. */
export function activityChart(hours: readonly HourOfRuns[]): Html {
  const all = hours.reduce((sum, hour) => sum + totalOf(hour), 0)
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0)
  const total = `${plural(all, 'run')} in the last 24 hours`
  return barChart({
    bars: hours.map(toBar),
    summary: `${total}, ${count(failed)} of them failed or stopped`,
    legend: { good: 'Completed', bad: 'Failed or stopped', busy: 'In progress' },
    unit: 'Hours in UTC',
    table: hoursTable(hours),
  })
}

const totalOf = ({ completed, failed, open }: HourOfRuns): number => completed + failed + open

const clock = (hour: Date): string => hour.toISOString().slice(11, 16)

const toBar = ({ hour, completed, failed, open }: HourOfRuns): Bar => ({
  label: clock(hour),
  title:
    `${clock(hour)} UTC: ${count(completed)} completed, ${count(failed)} failed or stopped, ` +
    `${count(open)} in progress`,
  parts: [
    { tone: 'good', count: completed },
    { tone: 'bad', count: failed },
    { tone: 'busy', count: open },
  ],
})

const hoursTable = (hours: readonly HourOfRuns[]): Html =>
  html`<table class="list tight">
    <caption class="unseen">
      Runs of the last 24 hours by hour
    </caption>
    <thead>
      <tr>
        <th scope="col">Hour (UTC)</th>
        <th scope="col" class="number">Completed</th>
        <th scope="col" class="number">Failed or stopped</th>
        <th scope="col" class="number">In progress</th>
      </tr>
    </thead>
    <tbody>
      ${hours.map(
        ({ hour, completed, failed, open }) =>
          html`<tr>
            <td class="lead">${clock(hour)}</td>
            <td class="number" data-label="Completed">${count(completed)}</td>
            <td class="number" data-label="Failed or stopped">${count(failed)}</td>
            <td class="number" data-label="In progress">${count(open)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
