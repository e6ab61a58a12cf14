import { html } from 'hono/html'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { TraceNote } from '../../../platform/traces/trace-notes.ts'
import type { Skeleton } from '../../traces/skeleton.ts'
import type { SpanView } from '../../../shared/trace-answers/one-trace.ts'
import { absoluteTime, count, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { noticeBox, pill, warningBox, factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars, nsText } from '../frame/amounts.ts'
import { KINDS, kindName, kindSprite } from '../frame/kinds.ts'
import { runPath } from '../frame/addresses.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { traceNotes } from './trace-notes.ts'
import type { ListedTrace } from '../../../shared/trace-answers/lists.ts'
import { carriedAddress } from './list-query.ts'
import { summarizeOddities } from './oddities.ts'
import { sumUp } from './sums.ts'
import type { Sums } from './sums.ts'
import { sessionPath } from './session-page.ts'
import { spanPanel } from './span-panel.ts'
import type { SpanRow } from './span-row.ts'
import type { TraceTree } from './trace-tree.ts'
import type { TraceQuery } from './trace-query.ts'
import { waitingPill } from './traces-table.ts'
import { waterfall } from './waterfall.ts'

/** A trace, the part of its tree that is shown, and the span beside it. */
export interface TracePage {
  readonly session: Session
  readonly skeleton: Skeleton
  readonly tree: TraceTree
  readonly query: TraceQuery
  /** The rows that the filter leaves, of which a page is shown. */
  readonly rows: readonly SpanRow[]
  readonly span: SpanView | undefined
  /** What lists know of it; undefined until they do. */
  readonly listed: ListedTrace | undefined
  readonly notes: readonly TraceNote[]
  readonly notice: string | undefined
  /** The run that made the trace, where there is one. */
  readonly run: RunRecord | undefined
}

/** Rows of a page for those who have no script. */
export const PAGE_ROWS = 200

/** The page of a trace: its sums, its tree on a time axis, and one of its spans. */
export function tracePage(view: TracePage): Html {
  const { session, tree, skeleton, query } = view
  const [first] = tree.rows
  const name = visibleText(first?.span.name ?? '') || 'Trace'
  return page(
    { title: name, session, current: '/traces', script: 'traceScript' },
    html`<div class="trace-way">
        <nav class="crumbs" aria-label="Breadcrumb">
          <a href="${carriedAddress(query.list)}">Traces</a>
        </nav>
        ${neighbours(view)}
      </div>
      ${kindSprite()} ${noticeBox(view.notice)} ${head(view, name)} ${sums(view)}
      ${skeleton.isTruncated ? warningBox(TRUNCATED) : ''} ${oddities(view)}
      ${traceNotes({ session, tracePath: pathOf(view), list: query.list, notes: view.notes })}
      <div class="trace" data-trace="${pathOf(view)}" data-open="${isOpen(view) ? 'true' : ''}">
        <section class="card flush trace-tree" aria-labelledby="spans">
          <div class="card-head">
            <h2 id="spans">Spans</h2>
            ${toolbar(view)}
          </div>
          ${treePart(view)}
        </section>
        <section class="card trace-span" aria-labelledby="span-title" tabindex="-1">
          ${beside(view)}
        </section>
      </div>`,
  )
}

const TRUNCATED =
  'This trace has more spans than a page can show. Here are the first 100,000; the download ' +
  'has all.'

const pathOf = ({ skeleton }: TracePage): string => `/traces/${skeleton.traceId}`

const isOpen = ({ tree }: TracePage): boolean => tree.rows[0]?.span.durationNs === null

function head(view: TracePage, name: string): Html {
  const { skeleton, run, listed } = view
  const session = listed?.session_id ?? undefined
  return html`<div class="page-head">
    <div>
      <h1>${name}</h1>
      <p class="hint">
        <time datetime="${new Date(skeleton.startMs).toISOString()}"
          >${absoluteTime(new Date(skeleton.startMs))}</time
        >
        · <code class="select">${skeleton.traceId}</code>
      </p>
    </div>
    ${state(view)}
    <span class="push pair">
      ${run === undefined ? '' : html`<a class="button" href="${runPath(run, run)}">Run</a>`}
      ${
        session === undefined
          ? ''
          : html`<a class="button" href="${sessionPath(session)}">Session</a>`
      }
      <a class="button" href="/trace-comparison?trace=${skeleton.traceId}">Compare</a>
      <a class="button" href="${pathOf(view)}/otlp">${icon('download')}<span>OTLP JSON</span></a>
    </span>
  </div>`
}

function state(view: TracePage): Html {
  if (view.run?.status === 'waiting') return waitingPill()
  if (isOpen(view)) return pill('busy', 'Running')
  const isBad = view.tree.rows.some(({ span, depth }) => depth === 0 && span.status === 2)
  return isBad ? pill('bad', 'Failed') : pill('good', 'Ok')
}

/** Where they lead is looked up when somebody goes there. */
function neighbours(view: TracePage): Html {
  const query = queryOf({ list: view.query.list })
  return html`<nav class="pair" aria-label="Traces of the list">
    <a class="button small" rel="prev" href="${pathOf(view)}/previous${query}"
      >${icon('back')}<span>Previous</span></a
    >
    <a class="button small" rel="next" href="${pathOf(view)}/next${query}"
      ><span>Next</span>${icon('chevron')}</a
    >
  </nav>`
}

function sums({ tree }: TracePage): Html {
  const all = sumUp(tree)
  const { spans, errors, calls, tokens, costUsd } = all
  return factList('statistics five', [
    ['Duration', nsText(tree.endNs - tree.beginNs)],
    [
      'Spans',
      html`${count(spans)} ${errors > 0 ? html`<small>${plural(errors, 'error')}</small>` : ''}`,
    ],
    ['Model calls', count(calls)],
    ['Tokens', count(tokens)],
    ['Cost', costUsd === null ? '–' : html`${dollars(costUsd)} ${costNote(all)}`],
  ])
}

/** Which of the two costs it is; both where calls have both. */
function costNote({ costUsd, reportedCostUsd, computedCostUsd }: Sums): Html | string {
  if (reportedCostUsd === null) return html`<small>by list prices</small>`
  if (computedCostUsd === null) return html`<small>by its sender</small>`
  const isMixed = costUsd !== reportedCostUsd
  return html`<small
    >${isMixed ? `${dollars(reportedCostUsd)} of it by senders` : 'by its sender'},
    ${dollars(computedCostUsd)} by list prices</small
  >`
}

function oddities({ tree }: TracePage): Html | string {
  const odd = summarizeOddities(tree)
  return odd === undefined ? '' : warningBox(odd)
}

/** Works as a form; with the script it changes the tree at once. */
function toolbar(view: TracePage): Html {
  const { kind, depth, errors, critical, fold, text, list, as } = view.query
  return html`<form class="trace-tools" action="${pathOf(view)}" role="search">
    ${list === undefined ? '' : html`<input type="hidden" name="list" value="${list}" />`}
    ${as === 'text' ? html`<input type="hidden" name="as" value="text" />` : ''}
    <input
      type="search"
      name="q"
      value="${text ?? ''}"
      maxlength="200"
      aria-label="Find in this trace"
      placeholder="Find in this trace"
      autocomplete="off"
    />
    <select name="kind" aria-label="Kind">
      <option value="">All kinds</option>
      ${KINDS.map(
        (each) =>
          html`<option value="${each}" ${each === kind ? 'selected' : ''}>
            ${kindName(each)}
          </option>`,
      )}
    </select>
    <select name="depth" aria-label="Levels">
      <option value="">All levels</option>
      ${[1, 2, 3, 4, 5].map(
        (each) =>
          html`<option value="${each}" ${each === depth ? 'selected' : ''}>
            ${plural(each, 'level')}
          </option>`,
      )}
    </select>
    <select name="fold" aria-label="Close">
      <option value="">All open</option>
      ${KINDS.map(
        (each) =>
          html`<option value="${each}" ${each === fold ? 'selected' : ''}>
            Close: ${kindName(each)}
          </option>`,
      )}
    </select>
    <label class="check"
      ><input type="checkbox" name="critical" value="1" ${critical ? 'checked' : ''} />Critical
      path</label
    >
    <label class="check"
      ><input type="checkbox" name="errors" value="1" ${errors ? 'checked' : ''} />Errors</label
    >
    <button class="button small">Show</button>
  </form>`
}

function treePart(view: TracePage): Html {
  const { rows, query, tree } = view
  const shown = rows.slice(query.from, query.from + PAGE_ROWS)
  if (shown.length === 0) return html`<p class="hint nothing">No span is like this.</p>`
  const spanPath = (id: string): string => `${addressOf(view, { span: id })}#span-title`
  return html`<div class="tree-view">
      ${waterfall({
        rows: shown,
        lengthNs: tree.endNs - tree.beginNs,
        selected: view.span?.span.spanId,
        spanPath,
      })}
    </div>
    ${pages(view)}`
}

function pages(view: TracePage): Html | string {
  const { rows, query } = view
  if (rows.length <= PAGE_ROWS) return ''
  const link = (from: number, name: string): Html =>
    html`<a class="button small" href="${addressOf(view, { from: String(from) })}">${name}</a>`
  const last = Math.min(rows.length, query.from + PAGE_ROWS)
  return html`<nav class="pager card-foot" aria-label="Pages" data-without-script>
    <span class="hint">${count(query.from + 1)}–${count(last)} of ${count(rows.length)}</span>
    ${query.from > 0 ? link(Math.max(0, query.from - PAGE_ROWS), 'Previous') : ''}
    ${last < rows.length ? link(last, 'Next') : ''}
  </nav>`
}

type Changes = Readonly<Record<string, string | undefined>>

function addressOf(view: TracePage, changes: Changes): string {
  const { kind, depth, errors, critical, fold, text, from, span, list, as } = view.query
  return `${pathOf(view)}${queryOf({
    q: text,
    kind,
    depth: depth === undefined ? undefined : String(depth),
    errors: errors ? '1' : undefined,
    critical: critical ? '1' : undefined,
    fold,
    from: from > 0 ? String(from) : undefined,
    span,
    as: as === 'text' ? as : undefined,
    list,
    ...changes,
  })}`
}

function beside(view: TracePage): Html {
  const { span, tree, skeleton, query } = view
  if (!span) return html`<p class="hint" id="span-title">Choose a span to see what is in it.</p>`
  const row = tree.rows.find((each) => each.span.id === span.span.spanId)
  return spanPanel({
    view: span,
    tracePath: `/traces/${skeleton.traceId}`,
    oddities: row?.oddities ?? [],
    as: query.as,
    pathAs(as) {
      const changes = { span: span.span.spanId, as: as === 'text' ? as : undefined }
      return `${addressOf(view, changes)}#conversation`
    },
  })
}
