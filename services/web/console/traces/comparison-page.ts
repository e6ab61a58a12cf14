import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Skeleton } from '../../traces/skeleton.ts'
import type { SpanView } from '../../../shared/trace-answers/one-trace.ts'
import { dollars, nsText } from '../frame/amounts.ts'
import { absoluteTime, count } from '../frame/format.ts'
import { kindIcon, kindSprite } from '../frame/kinds.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { compareTraces } from './comparison.ts'
import type { ComparedGroup, Comparison } from './comparison.ts'
import { outputMessages } from './span-messages.ts'
import type { TraceTree } from './trace-tree.ts'

/** A trace of a comparison. */
export interface ComparedTrace {
  readonly skeleton: Skeleton
  readonly tree: TraceTree
  /** The span that has its last answer, where there is one. */
  readonly output: SpanView | undefined
}

/** Two traces; differences are what `after` has more than `before`. */
interface ComparisonPage {
  readonly session: Session
  readonly before: ComparedTrace
  readonly after: ComparedTrace
}

/** Groups that a page shows. */
const GROUPS_MAX = 200

/** Two traces beside each other: totals, groups of spans, and what they answered. */
export function comparisonPage({ session, before, after }: ComparisonPage): Html {
  const comparison = compareTraces(before.tree, after.tree)
  const [first, second] = [before.skeleton.traceId, after.skeleton.traceId]
  return page(
    { title: 'Compare traces', session, current: '/traces' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/traces">Traces</a></nav>
      ${kindSprite()}
      <div class="page-head">
        <div>
          <h1>Compare traces</h1>
          <p class="hint">A difference is what B has more than A.</p>
        </div>
        <span class="push pair">
          <a class="button" href="/trace-comparison?trace=${second}&trace=${first}">Swap</a>
          <a class="button" href="/trace-comparison?trace=${first}">Another one</a>
        </span>
      </div>
      <div class="beside">${traceCard('A', before)} ${traceCard('B', after)}</div>
      <section class="card flush" aria-labelledby="totals">
        <div class="card-head"><h2 id="totals">Totals</h2></div>
        ${totals(comparison)}
      </section>
      <section class="card flush" aria-labelledby="groups">
        <div class="card-head">
          <h2 id="groups">Spans by name, kind and task</h2>
        </div>
        ${groupTable(comparison)}
      </section>
      <section aria-labelledby="outputs">
        <h2 id="outputs" class="section-title">Outputs</h2>
        <div class="beside">${outputCard('A', before)} ${outputCard('B', after)}</div>
      </section>`,
  )
}

function traceCard(letter: string, { skeleton, tree }: ComparedTrace): Html {
  const { traceId, startMs, isTruncated } = skeleton
  return html`<section class="card" aria-label="Trace ${letter}">
    <h2>
      <span class="letter">${letter}</span>
      <a href="/traces/${traceId}">${visibleText(tree.rows[0]?.span.name ?? '') || '(no name)'}</a>
    </h2>
    <p class="hint">${absoluteTime(new Date(startMs))} · <code class="select">${traceId}</code></p>
    ${isTruncated ? html`<p class="hint">Only its first 100,000 spans are compared.</p>` : ''}
  </section>`
}

type Write = (amount: number) => string

/** One amount in both traces, and the difference, with the tone of a rise or a fall. */
interface Amount {
  readonly before: number | null
  readonly after: number | null
  readonly write: Write
}

function difference({ before, after, write }: Amount): Html | string {
  if (before === null && after === null) return '–'
  const by = (after ?? 0) - (before ?? 0)
  if (by === 0) return 'the same'
  const sign = by > 0 ? '+' : '−'
  const share = before ? ` (${sign}${Math.round((Math.abs(by) / before) * 100)} %)` : ''
  return html`<span class="${by > 0 ? 'more-than' : 'less-than'}"
    >${sign}${write(Math.abs(by))}${share}</span
  >`
}

const amount = (value: number | null, write: Write): string => (value === null ? '–' : write(value))

const head = (names: readonly string[]): Html =>
  html`<thead>
    <tr>
      ${names.map(
        (name, index) => html`<th scope="col" class="${index === 0 ? '' : 'number'}">${name}</th>`,
      )}
    </tr>
  </thead>`

function totals({ before, after }: Comparison): Html {
  const rows = [
    ['Duration', before.durationNs, after.durationNs, nsText],
    ['Spans', before.spans, after.spans, count],
    ['Errors', before.errors, after.errors, count],
    ['Model calls', before.calls, after.calls, count],
    ['Tokens', before.tokens, after.tokens, count],
    ['Cost', before.costUsd, after.costUsd, dollars],
  ] as const
  return html`<table class="list">
    <caption class="unseen">
      Totals
    </caption>
    ${head(['Total', 'A', 'B', 'Difference'])}
    <tbody>
      ${rows.map(
        ([name, first, second, write]) =>
          html`<tr>
            <th scope="row" class="lead">${name}</th>
            <td class="number" data-label="A">${amount(first, write)}</td>
            <td class="number" data-label="B">${amount(second, write)}</td>
            <td class="number" data-label="Difference">
              ${difference({ before: first, after: second, write })}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function groupTable({ groups }: Comparison): Html {
  const shown = groups.slice(0, GROUPS_MAX)
  return html`<table class="list">
      <caption class="unseen">
        Spans by name, kind and task
      </caption>
      ${head(['Spans', 'Number', 'Duration', 'Tokens', 'Cost'])}
      <tbody>
        ${shown.map(groupRow)}
      </tbody>
    </table>
    ${
      groups.length > shown.length
        ? html`<p class="hint nothing">
            The ${count(GROUPS_MAX)} of ${count(groups.length)} whose durations differ most.
          </p>`
        : ''
    }`
}

function groupRow({ name, kind, task, before, after }: ComparedGroup): Html {
  const cell = (
    label: string,
    of: (sums: ComparedGroup['before']) => number | null,
    write: Write,
  ) =>
    of(before) === null && of(after) === null
      ? html`<td class="number" data-label="${label}">–</td>`
      : html`<td class="number both" data-label="${label}">
          ${amount(before.spans > 0 ? of(before) : null, write)} →
          ${amount(after.spans > 0 ? of(after) : null, write)}
          <span class="sub">${difference({ before: of(before), after: of(after), write })}</span>
        </td>`
  return html`<tr>
    <td class="lead">
      ${kindIcon(kind)} ${visibleText(name) || '(no name)'}
      ${task === null ? '' : html`<span class="sub">Task ${visibleText(task)}</span>`}
    </td>
    ${cell('Number', ({ spans }) => spans, count)}
    ${cell('Duration', ({ durationNs }) => durationNs, nsText)}
    ${cell('Tokens', ({ tokens }) => tokens || null, count)}
    ${cell('Cost', ({ costUsd }) => costUsd, dollars)}
  </tr>`
}

function outputCard(letter: string, { output, skeleton }: ComparedTrace): Html {
  const span = output?.span
  return html`<section class="card" aria-label="Output of ${letter}">
    <div class="card-head">
      <h3><span class="letter">${letter}</span> ${visibleText(span?.name ?? '')}</h3>
      ${
        span === undefined
          ? ''
          : html`<a href="/traces/${skeleton.traceId}${queryOf({ span: span.spanId })}">Span</a>`
      }
    </div>
    ${
      output === undefined
        ? html`<p class="hint">Neither its root nor its last calls of models have an output.</p>`
        : outputMessages(output)
    }
  </section>`
}
