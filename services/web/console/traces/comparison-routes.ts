import type { Context, Hono } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { SpanView } from '../../../shared/trace-answers/one-trace.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'
import { chooseTracePage } from './choose-trace-page.ts'
import { comparisonPage } from './comparison-page.ts'
import type { ComparedTrace } from './comparison-page.ts'
import { WITHOUT_REQUESTS } from './list-query.ts'
import { endOf, toTree } from './trace-tree.ts'
import type { TraceTree } from './trace-tree.ts'
import { readerOf } from './reader-of.ts'
import { traceIdOf } from '../../traces/trace-place.ts'
import { createRoom } from '../frame/room.ts'

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
