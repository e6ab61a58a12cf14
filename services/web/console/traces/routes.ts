import type { Context, Hono } from 'hono'
import { listTraceNotes } from '../../../platform/traces/trace-notes.ts'
import { findRunRecord } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { KindName } from '../frame/kinds.ts'
import { queryOf } from '../frame/lists/pager.ts'
import type { ShownAs } from '../frame/text/foreign-text.ts'
import { readerOf } from './reader-of.ts'
import { spanPanel } from './span-panel.ts'
import { toRowsDocument, toSpanRow } from './span-row.ts'
import type { SpanRow } from './span-row.ts'
import { PAGE_ROWS, tracePage } from './trace-page.ts'
import { readTraceQuery } from './trace-query.ts'
import { getSpanPlace, getTraceId } from '../../traces/trace-place.ts'
import type { TraceQuery } from './trace-query.ts'
import { toTree } from './trace-tree.ts'
import type { TraceTree } from './trace-tree.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the page of a trace, its rows and spans for the script, and downloads. */
export function traceRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps)
  const path = '/traces/:traceId'

  const kept = createKeptRows()
  /** Organizations have traces of the same id. */
  const traceOf = (c: Context<SignedIn>): string =>
    `${c.var.session.user.organizationId}/${getTraceId(c)}`

  room.page('viewer', path, async (c) => {
    const view = await readPage(c, deps)
    kept.keep(traceOf(c), view.tree)
    return c.html(tracePage(view))
  })

  room.page('viewer', `${path}/rows`, async (c) => {
    const reader = readerOf(c, deps)
    const rows = kept.take(traceOf(c))
    if (rows !== undefined) return c.body(rows, 200, { 'content-type': 'application/json' })
    return c.json(toRowsDocument(toTree((await reader.skeleton(getTraceId(c))).spans)))
  })

  room.page('viewer', `${path}/search`, async (c) => {
    const text = readTraceQuery(c).text
    if (text === undefined) throw new AppError('invalid_request', 'q must have a text to find.')
    return c.json(await readerOf(c, deps).search(getTraceId(c), text))
  })

  room.page('viewer', `${path}/spans/:spanId`, async (c) => {
    const { traceId, spanId } = getSpanPlace(c)
    const view = await readerOf(c, deps).span({ traceId, spanId })
    const { as, list } = readTraceQuery(c)
    const tracePath = `/traces/${traceId}`
    const pathAs = (format: ShownAs): string =>
      `${tracePath}${queryOf({ span: spanId, as: format === 'text' ? format : undefined, list })}`
    return c.html(spanPanel({ view, tracePath, oddities: [], as, pathAs }))
  })

  room.page('viewer', `${path}/spans/:spanId/raw`, async (c) => {
    const { traceId, spanId } = getSpanPlace(c)
    const answer = await readerOf(c, deps).open(`/traces/${traceId}/spans/${spanId}`)
    return download(answer, `span-${spanId}.json`)
  })

  room.page('viewer', `${path}/otlp`, async (c) => {
    const traceId = getTraceId(c)
    return download(await readerOf(c, deps).open(`/traces/${traceId}`), `trace-${traceId}.json`)
  })

  return room.routes
}

async function readPage(c: Context<SignedIn>, deps: WebDeps) {
  const reader = readerOf(c, deps)
  const traceId = getTraceId(c)
  const { organizationId } = c.var.session.user
  const [skeleton, listed, notes, run] = await Promise.all([
    reader.skeleton(traceId),
    reader.list(new URLSearchParams({ trace: traceId })),
    listTraceNotes(deps.sql, { organizationId, traceId }),
    findRunOf(deps, organizationId, traceId),
  ])
  const tree = toTree(skeleton.spans)
  const query = readTraceQuery(c)
  const found = query.text === undefined ? undefined : await reader.search(traceId, query.text)
  const rows = rowsOf(tree, query, new Set(found?.ids))
  const spanId = query.span ?? tree.rows[0]?.span.id
  const place = rows.findIndex(({ id }) => id === query.span)
  return {
    session: c.var.session,
    skeleton,
    tree,
    // The page that has the span, for one who came by a link to it.
    query: query.from === 0 && place > 0 ? { ...query, from: place - (place % PAGE_ROWS) } : query,
    rows,
    span: spanId === undefined ? undefined : await reader.span({ traceId, spanId }),
    listed: listed.traces[0],
    notice: c.var.notice,
    notes,
    run,
  }
}

function rowsOf(
  tree: TraceTree,
  { kind, depth, errors, critical, fold, text }: TraceQuery,
  found: ReadonlySet<string>,
): SpanRow[] {
  const needle = text?.toLowerCase()
  return withoutBelow(
    tree.rows.map((row) => toSpanRow(row, tree)),
    fold,
  ).filter(
    (row) =>
      (!critical || row.isCritical) &&
      (kind === undefined || row.kind === kind) &&
      (depth === undefined || row.depth < depth) &&
      (!errors || row.isError) &&
      (needle === undefined ||
        found.has(row.id) ||
        `${row.name} ${row.label ?? ''}`.toLowerCase().includes(needle)),
  )
}

/** The rows without those below a row of this kind. */
function withoutBelow(rows: readonly SpanRow[], fold: KindName | undefined): readonly SpanRow[] {
  if (fold === undefined) return rows
  const kept: SpanRow[] = []
  for (let place = 0; place < rows.length; place++) {
    const row = rows[place]
    if (!row) continue
    kept.push(row)
    if (row.kind === fold) place += row.below
  }
  return kept
}

/** The trace id of a run is its kickoff id. */
async function findRunOf(
  { sql }: WebDeps,
  organizationId: number,
  traceId: string,
): Promise<RunRecord | undefined> {
  const kickoffId = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return findRunRecord(sql, { organizationId, id: kickoffId })
}

/** Hands an answer of the collector on as it comes. */
const download = ({ body }: Response, name: string): Response =>
  new Response(body, {
    headers: {
      'content-type': 'application/json',
      'content-disposition': `attachment; filename="${name}"`,
    },
  })

/** Smaller traces are read again as fast. */
const ROWS_MIN = 2000
/** The script of a page asks for its rows at once. */
const KEPT_MS = 10_000
/** A document has up to some ten megabytes. */
const DOCUMENTS_MAX = 4

/** The rows of large traces whose page was just shown, for the script that asks for them next. */
interface KeptRows {
  /** Keeps the rows of a trace for a few seconds, once the page is on its way. */
  keep(trace: string, tree: TraceTree): void
  /** Returns the rows as JSON, once: whoever asks again gets what is there by then. */
  take(trace: string): string | undefined
}

/** Keeps rows in this process; another one reads them again. */
export function createKeptRows(): KeptRows {
  const documents = new Map<string, { readonly text: string; readonly timer: NodeJS.Timeout }>()

  function take(trace: string): string | undefined {
    const kept = documents.get(trace)
    clearTimeout(kept?.timer)
    documents.delete(trace)
    return kept?.text
  }

  return {
    keep(trace, tree) {
      if (tree.rows.length < ROWS_MIN) return
      setImmediate(() => {
        take(trace)
        const tooMany = Math.max(0, documents.size - DOCUMENTS_MAX + 1)
        for (const oldest of [...documents.keys()].slice(0, tooMany)) take(oldest)
        const timer = setTimeout(() => documents.delete(trace), KEPT_MS).unref()
        documents.set(trace, { text: JSON.stringify(toRowsDocument(tree)), timer })
      })
    },
    take,
  }
}
