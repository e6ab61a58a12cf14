import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { barChart } from '../frame/bar-chart.ts'
import { lineChart } from '../frame/line-chart.ts'
import { count, duration, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { GROUPING_NAMES, GROUPINGS } from './usage-rows.ts'
import type { Grouping, UsageRow } from './usage-rows.ts'
import { traceTabs } from '../frame/trace-tabs.ts'

const DAY_MS = 86_400_000

/** The days that usage goes back. */
export const USAGE_DAYS = [7, 30, 91] as const

/** The usage of an organization. */
interface UsagePage {
  readonly session: Session
  readonly by: Grouping
  readonly days: (typeof USAGE_DAYS)[number]
  readonly rows: readonly UsageRow[]
}

/** Calls of models in groups: traces, tokens, cost, errors and how long they took. */
export function usagePage(view: UsagePage): Html {
  const { session, by, days, rows } = view
  const choice = (path: string, name: string, isChosen: boolean): Html =>
    html`<a href="${path}" ${isChosen ? html`aria-current="true"` : ''}>${name}</a>`
  const address = (grouping: Grouping, back: number): string => `/usage?by=${grouping}&days=${back}`
  return page(
    { title: 'Usage', session, current: '/traces' },
    html`<div class="page-head with-views">
        <h1>Usage</h1>
        ${traceTabs('/usage')}
        <a class="button push" href="/usage.csv?by=${by}&days=${days}"
          >${icon('download')}<span>CSV</span></a
        >
      </div>
      <p class="hint list-hint">${HINTS[by]}</p>
      <div class="usage-choices">
        <nav class="switch" aria-label="Grouped by">
          ${GROUPING_NAMES.map((grouping) =>
            choice(address(grouping, days), GROUPINGS[grouping], grouping === by),
          )}
        </nav>
        <nav class="switch" aria-label="Time">
          ${USAGE_DAYS.map((back) => choice(address(by, back), `${back} days`, back === days))}
        </nav>
      </div>
      ${
        rows.length > 0
          ? html`${sums(view)} ${by === 'day' ? html`${chartsByDay(view)}` : ''}
              <section class="card flush" aria-label="Usage">${table(view)}</section>`
          : html`<section class="card">
              ${emptyState('pulse', 'No calls', 'No model was called in this time.')}
            </section>`
      }`,
  )
}

const CALLS = 'Calls of models, by the time at which they started, in UTC.'
const HINTS: Readonly<Record<Grouping, string>> = {
  day: CALLS,
  model: CALLS,
  crew: CALLS,
  user: 'Traces that name a user, at most the thousand users with the most of them.',
}

const total = (rows: readonly UsageRow[], of: (row: UsageRow) => number | null): number =>
  rows.reduce((sum, row) => sum + (of(row) ?? 0), 0)

function sums({ rows, by }: UsagePage): Html {
  const unpriced = total(rows, (row) => row.unpriced)
  const facts = [
    ['Calls', count(total(rows, ({ calls }) => calls)), ''],
    [by === 'user' ? 'Failed traces' : 'Failed', count(total(rows, ({ failed }) => failed)), ''],
    ['Tokens', count(total(rows, (row) => row.inputTokens + row.outputTokens)), ''],
    [
      'Cost',
      dollars(total(rows, ({ costUsd }) => costUsd)),
      unpriced > 0 ? html`<a href="/prices">${plural(unpriced, 'call')} without a price</a>` : '',
    ],
  ] as const
  return html`<dl class="statistics">
    ${facts.map(
      ([name, text, note]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${text} ${note === '' ? '' : html`<small>${note}</small>`}</dd>
        </div>`,
    )}
  </dl>`
}

/** The days from the first with a call on, also those without one. */
function daysOf({ rows, days }: UsagePage) {
  const byDay = new Map(rows.map((row) => [row.name, row]))
  const all = Array.from({ length: days }, (_, index) => {
    const ago = days - 1 - index
    const day = new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
    return { day, row: byDay.get(day) }
  })
  return all.slice(all.findIndex(({ row }) => row !== undefined))
}

const DAYS = 'Days in UTC'

/** What goes over the days of the table, drawn. */
const chartsByDay = (view: UsagePage): Html =>
  html`${callsByDay(view)} ${timesByDay(view)}
    <div class="beside">${tokensByDay(view)} ${costByDay(view)}</div>`

function tokensByDay(view: UsagePage): Html {
  const tokens = total(view.rows, (row) => row.inputTokens + row.outputTokens)
  return html`<section class="card" aria-labelledby="tokens">
    <h2 id="tokens">Tokens</h2>
    ${barChart({
      bars: daysOf(view).map(({ day, row }) => {
        const [input, output] = [row?.inputTokens ?? 0, row?.outputTokens ?? 0]
        return {
          label: day.slice(5),
          title: `${day}: ${count(input)} of input, ${count(output)} of output`,
          parts: [
            { tone: 'busy', count: input },
            { tone: 'good', count: output },
          ],
        }
      }),
      summary: `${count(tokens)} tokens by day`,
      legend: { busy: 'Input', good: 'Output' },
      unit: DAYS,
    })}
  </section>`
}

function costByDay(view: UsagePage): Html {
  const days = daysOf(view)
  const costs = days.map(({ row }) => row?.costUsd ?? 0)
  return html`<section class="card" aria-labelledby="cost">
    <h2 id="cost">Cost</h2>
    ${lineChart({
      lines: [{ tone: 'cost', name: 'US$', values: costs }],
      labels: days.map(({ day }) => day.slice(5)),
      titles: days.map(({ day }, index) => `${day}: ${dollars(costs[index] ?? 0)}`),
      summary: `${dollars(costs.reduce((sum, cost) => sum + cost, 0))} by day`,
      unit: DAYS,
      textOf: dollars,
    })}
  </section>`
}

function callsByDay(view: UsagePage): Html {
  const calls = count(total(view.rows, (row) => row.calls))
  return html`<section class="card" aria-labelledby="calls">
    <h2 id="calls">Calls</h2>
    ${barChart({
      bars: daysOf(view).map(({ day, row }) => {
        const { calls: all, failed } = row ?? { calls: 0, failed: 0 }
        return {
          label: day.slice(5),
          title: `${day}: ${count(all)} calls, ${count(failed)} failed`,
          parts: [
            { tone: 'good', count: all - failed },
            { tone: 'bad', count: failed },
          ],
        }
      }),
      summary: `${calls} calls by day`,
      legend: { good: 'Ok', bad: 'Failed' },
      unit: DAYS,
    })}
  </section>`
}

function timesByDay(view: UsagePage): Html {
  const days = daysOf(view)
  const medians = days.map(({ row }) => row?.p50 ?? null)
  const slow = days.map(({ row }) => row?.p95 ?? null)
  return html`<section class="card" aria-labelledby="times">
    <h2 id="times">How long calls took</h2>
    ${lineChart({
      lines: [
        { tone: 'low', name: 'Median', values: medians },
        { tone: 'high', name: '95 % are faster', values: slow },
      ],
      labels: days.map(({ day }) => day.slice(5)),
      titles: days.map(({ day }, index) => {
        const [half, most] = [medians[index] ?? null, slow[index] ?? null].map(milliseconds)
        return `${day}: median ${half}, 95 % ${most}`
      }),
      summary: 'Median and 95th percentile of the duration of calls by day',
      unit: DAYS,
      textOf: duration,
    })}
  </section>`
}

const milliseconds = (ms: number | null): string => (ms === null ? '–' : duration(ms))

function table({ rows: found, by }: UsagePage): Html {
  // The latest day first; the others are in order.
  const rows = by === 'day' ? found.toReversed() : found
  const columns = columnsOf(by)
  return listTable(
    `Usage by ${GROUPINGS[by].toLowerCase()}`,
    [GROUPINGS[by], ...columns.map(([name]) => ['number', name] as const)],
    rows.map(
      (row) =>
        html`<tr>
          <td class="lead">${nameOf(row, by)}</td>
          ${columns.map(
            ([name, textOf]) => html`<td data-label="${name}" class="number">${textOf(row)}</td>`,
          )}
        </tr>`,
    ),
  )
}

/** A user leads to the traces of that name. */
const nameOf = ({ name }: UsageRow, by: Grouping): Html | string =>
  by === 'user'
    ? html`<a href="/traces${queryOf({ user: name, window: 'all' })}">${visibleText(name)}</a>`
    : visibleText(name)

type UsageColumn = readonly [name: string, textOf: (row: UsageRow) => string]

function columnsOf(by: Grouping): readonly UsageColumn[] {
  const traces: UsageColumn = ['Traces', (row) => count(row.traces ?? 0)]
  const ofUser = by === 'user'
  return [
    ...(by === 'model' ? [] : [traces]),
    ['Calls', (row) => count(row.calls)],
    [ofUser ? 'Failed traces' : 'Failed', (row) => count(row.failed)],
    ['Input', (row) => count(row.inputTokens)],
    ['Output', (row) => count(row.outputTokens)],
    ['Cost', ({ costUsd }) => (costUsd === null ? '–' : dollars(costUsd))],
    [ofUser ? 'Median trace' : 'Median', (row) => milliseconds(row.p50)],
    ['95 %', (row) => milliseconds(row.p95)],
  ]
}
