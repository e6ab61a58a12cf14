import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { AppError } from '../../../shared/errors.ts'
import type { SpanView } from '../../../shared/trace-answers/one-trace.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedTrace } from '../../../shared/trace-answers/lists.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'
import { traceIdOf } from '../../traces/trace-place.ts'
import { createRoom } from '../frame/room.ts'
import { duration, shortId } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { ago, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { comparisonPage } from './comparison-page.ts'
import type { ComparedTrace } from './comparison-page.ts'
import { WITHOUT_REQUESTS } from './list-query.ts'
import { endOf, toTree } from './trace-tree.ts'
import type { TraceTree } from './trace-tree.ts'
import { readerOf } from './reader-of.ts'
import { nameOf, tracePill } from './traces-table.ts'

/** Of the last calls of a trace, those that are looked at for an output. */
const CALLS_ASKED = 5
/** Traces that are offered for a comparison. */
const OFFERED = '30'

/** Serves two traces beside each other, and the choice of the second one. */
export function traceComparisonRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps)

  room.page('viewer', '/trace-comparison', async (c) => {
    const reader = readerOf(c, deps)
    const { session } = c.var
    const given = c.req.queries('trace') ?? []
    const [first, second] = given.map((text) => text.trim()).filter((text) => text !== '')
    const before = first === undefined ? undefined : await readTrace(reader, first)
    if (!before || second === undefined) return choose(c, reader, { before })
    const after = await readTrace(reader, second).catch(notThere)
    if (!after) return choose(c, reader, { before, wrong: second })
    return c.html(comparisonPage({ session, before, after }))
  })

  return room.routes
}

interface Choice {
  readonly before: ComparedTrace | undefined
  readonly wrong?: string
}

async function choose(
  c: Context<SignedIn>,
  reader: TraceReader,
  { before, wrong }: Choice,
): Promise<Response> {
  const offered = new URLSearchParams({ limit: OFFERED, ...WITHOUT_REQUESTS })
  const { traces } = await reader.list(offered)
  const page = chooseTracePage({ session: c.var.session, before, traces, wrong })
  return c.html(page, wrong === undefined ? 200 : 422)
}

/** An id that is mistyped is a matter of its field. */
function notThere(thrown: unknown): undefined {
  if (thrown instanceof AppError && thrown.code === 'not_found') return undefined
  throw thrown
}

async function readTrace(reader: TraceReader, text: string): Promise<ComparedTrace> {
  const traceId = traceIdOf(text)
  if (traceId === undefined) {
    throw new AppError('not_found', 'A trace id has 32 hexadecimal digits.')
  }
  const skeleton = await reader.skeleton(traceId)
  const tree = toTree(skeleton.spans)
  return { skeleton, tree, output: await findOutput(reader, traceId, tree) }
}

/** The output of the root, else that of the last call of a model that has one. */
async function findOutput(
  reader: TraceReader,
  traceId: string,
  { rows }: TraceTree,
): Promise<SpanView | undefined> {
  const root = rows[0]?.span
  const calls = rows.map(({ span }) => span).filter(({ isCall }) => isCall)
  const last = calls.toSorted((a, b) => endOf(b) - endOf(a)).slice(0, CALLS_ASKED)
  for (const spanId of new Set([root?.id, ...last.map(({ id }) => id)])) {
    const view = spanId && (await reader.span({ traceId, spanId }).catch(notThere))
    if (view && view.messages.output.length > 0) return view
  }
  return undefined
}

/** The choice of a trace to compare with; `before` is absent while none is chosen. */
interface ChooseTracePage {
  readonly session: Session
  readonly before: ComparedTrace | undefined
  readonly traces: readonly ListedTrace[]
  /** What was entered, when there is no such trace. */
  readonly wrong: string | undefined
}

/** Offers the latest traces, and a field for the id of any other. */
function chooseTracePage({ session, before, traces, wrong }: ChooseTracePage): Html {
  const first = before?.skeleton.traceId
  const name = visibleText(before?.tree.rows[0]?.span.name ?? '') || 'a trace'
  const others = traces.filter(({ trace_id: id }) => id !== first)
  return page(
    { title: 'Compare traces', session, current: '/traces' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/traces">Traces</a></nav>
      <div class="page-head"><h1>Compare ${first === undefined ? 'traces' : name}</h1></div>
      <form class="card" action="/trace-comparison">
        <div class="row">
          ${
            first === undefined
              ? idField('First trace id', undefined)
              : html`<input type="hidden" name="trace" value="${first}" />`
          }
          ${idField(first === undefined ? 'Second trace id' : 'Trace id to compare with', wrong)}
          <button class="button primary">Compare</button>
        </div>
      </form>
      ${first === undefined || others.length === 0 ? '' : latest(first, others)}`,
  )
}

function idField(label: string, wrong: string | undefined): Html {
  const id = label.startsWith('First') ? 'first-trace' : 'second-trace'
  return html`<div class="grow">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="trace"
      class="mono"
      required
      maxlength="36"
      autocomplete="off"
      value="${(wrong ?? '').slice(0, 36)}"
      ${wrong === undefined ? '' : html`aria-invalid="true" aria-describedby="${id}-problem"`}
    />
    ${
      wrong === undefined
        ? ''
        : html`<p class="field-problem" id="${id}-problem" role="alert">
            Your organization has no trace with this id. A trace id has 32 hexadecimal digits.
          </p>`
    }
  </div>`
}

const latest = (first: string, traces: readonly ListedTrace[]): Html =>
  html`<section class="card flush" aria-label="Latest traces">
    ${listTable(
      'Latest traces',
      ['Compare with', 'Status', 'Start', ['number', 'Duration']],
      traces.map(
        (trace) =>
          html`<tr>
            <td class="lead">
              <a href="/trace-comparison?trace=${first}&trace=${trace.trace_id}"
                >${nameOf(trace)}</a
              >
              <span class="sub mono">${shortId(trace.trace_id)}</span>
            </td>
            <td class="state">${tracePill(trace.status)}</td>
            <td data-label="Start" class="quiet">${ago(new Date(trace.started_at))}</td>
            <td data-label="Duration" class="number">
              ${trace.duration_ms === null ? '–' : duration(trace.duration_ms)}
            </td>
          </tr>`,
      ),
    )}
  </section>`
