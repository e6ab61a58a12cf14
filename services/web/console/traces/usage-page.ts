import { html } from 'hono/html'
import type { Session } from '../../../platform/sessions.ts'
import type { Usage } from '../../traces/trace-lists.ts'
import { barChart } from '../frame/bar-chart.ts'
import { count, duration } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { emptyState } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import type { AutomationName } from './list-page.ts'
import { traceTabs } from '../frame/trace-tabs.ts'

const DAY_MS = 86_400_000

/** By what usage is shown. */
export const GROUPINGS = { day: 'Day', model: 'Model', crew: 'Automation' } as const
/** Something that usage is shown by. */
export type Grouping = keyof typeof GROUPINGS

/** The days that usage goes back. */
export const USAGE_DAYS = [7, 30, 91] as const

/** The usage of an organization. */
export interface UsagePage {
  readonly session: Session
  readonly by: Grouping
  readonly days: (typeof USAGE_DAYS)[number]
  readonly usage: Usage
  readonly automations: readonly AutomationName[]
}

type Group = Usage['groups'][number]

/** Calls of models by day, model or automation: tokens, cost, errors and how long they took. */
export function usagePage(view: UsagePage): Html {
  const { session, by, days, usage } = view
  const choice = (path: string, name: string, isChosen: boolean): Html =>
    html`<a href="${path}" ${isChosen ? html`aria-current="true"` : ''}>${name}</a>`
  const address = (grouping: Grouping, back: number): string => `/usage?by=${grouping}&days=${back}`
  return page(
    { title: 'Usage', session, current: '/traces' },
    html`<div class="page-head">
        <div>
          <h1>Usage</h1>
          <p class="hint">Calls of models, by the time at which they started, in UTC.</p>
        </div>
        <a class="button push" href="/usage.csv?by=${by}&days=${days}"
          >${icon('download')}<span>CSV</span></a
        >
      </div>
      ${traceTabs('/usage')}
      <div class="usage-choices">
        <nav class="switch" aria-label="Grouped by">
          ${Object.entries(GROUPINGS).map(([grouping, name]) =>
            // The keys of an object are no more than texts.
            choice(address(grouping as Grouping, days), name, grouping === by),
          )}
        </nav>
        <nav class="switch" aria-label="Time">
          ${USAGE_DAYS.map((back) => choice(address(by, back), `${back} days`, back === days))}
        </nav>
      </div>
      ${
        usage.groups.length > 0
          ? html`${sums(usage)} ${by === 'day' ? chart(view) : ''}
              <section class="card flush" aria-label="Usage">${table(view)}</section>`
          : html`<section class="card">
              ${emptyState('pulse', 'No calls', 'No model was called in this time.')}
            </section>`
      }`,
  )
}

const total = (groups: readonly Group[], of: (group: Group) => number): number =>
  groups.reduce((sum, group) => sum + of(group), 0)

const tokensOf = ({ tokens: { input, output } }: Group): number => input + output

function sums({ groups }: Usage): Html {
  const unpriced = total(groups, (group) => group.unpriced)
  const facts = [
    ['Calls', count(total(groups, ({ calls }) => calls)), ''],
    ['Failed', count(total(groups, ({ errors }) => errors)), ''],
    ['Tokens', count(total(groups, tokensOf)), ''],
    [
      'Cost',
      dollars(total(groups, (group) => group.cost_usd)),
      unpriced > 0 ? `${count(unpriced)} calls without a price` : '',
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

/** Every day of the time, also those without a call. */
function daysOf({ usage, days }: UsagePage) {
  const byDay = new Map(usage.groups.map((group) => [(group.day ?? '').slice(0, 10), group]))
  return Array.from({ length: days }, (_, index) => {
    const ago = days - 1 - index
    const day = new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
    const { calls = 0, errors = 0 } = byDay.get(day) ?? {}
    return { day, calls, errors }
  })
}

function chart(view: UsagePage): Html {
  const calls = total(view.usage.groups, (group) => group.calls)
  return html`<section class="card" aria-label="Calls by day">
    ${barChart({
      bars: daysOf(view).map(({ day, calls, errors }) => ({
        label: day.slice(5),
        title: `${day}: ${count(calls)} calls, ${count(errors)} failed`,
        parts: [
          { tone: 'good', count: calls - errors },
          { tone: 'bad', count: errors },
        ],
      })),
      summary: `${count(calls)} calls by day`,
      legend: { good: 'Ok', bad: 'Failed' },
      unit: 'Days in UTC',
      table: html`<p class="hint">The table below has the same numbers.</p>`,
    })}
  </section>`
}

/** Returns what a group stands for, as people know it. */
export function groupName(
  group: Group,
  { by, automations }: Pick<UsagePage, 'by' | 'automations'>,
): string {
  const key = group[by] ?? ''
  if (by === 'day') return key.slice(0, 10)
  if (by === 'crew') {
    return automations.find(({ automationId }) => automationId === key)?.name ?? (key || '(none)')
  }
  return key || '(unknown)'
}

const milliseconds = (ms: number | null): string => (ms === null ? '–' : duration(ms))

function table(view: UsagePage): Html {
  const { usage, by } = view
  return html`<table class="list">
    <caption class="unseen">
      Usage by ${GROUPINGS[by].toLowerCase()}
    </caption>
    <thead>
      <tr>
        <th scope="col">${GROUPINGS[by]}</th>
        ${['Calls', 'Failed', 'Input', 'Output', 'Cost', 'Median', '95 %'].map(
          (name) => html`<th scope="col" class="number">${name}</th>`,
        )}
      </tr>
    </thead>
    <tbody>
      ${usage.groups.map(
        (group) =>
          html`<tr>
            <td class="lead">${visibleText(groupName(group, view))}</td>
            <td data-label="Calls" class="number">${count(group.calls)}</td>
            <td data-label="Failed" class="number">${count(group.errors)}</td>
            <td data-label="Input" class="number">${count(group.tokens.input)}</td>
            <td data-label="Output" class="number">${count(group.tokens.output)}</td>
            <td data-label="Cost" class="number">${dollars(group.cost_usd)}</td>
            <td data-label="Median" class="number">${milliseconds(group.duration_ms.p50)}</td>
            <td data-label="95 %" class="number">${milliseconds(group.duration_ms.p95)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}
