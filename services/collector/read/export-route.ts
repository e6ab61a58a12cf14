import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import type { ReadEnv } from './admit-read.ts'
import { toByteStream } from '../../shared/http/byte-stream.ts'
import { invalid, name, readParameters, time } from './read-query.ts'
import { exportLines, readExportCursor } from './span-export.ts'
import type { ExportQuery } from './span-export.ts'
import { createPlaces, startingWith } from './starting-with.ts'

/** The parts of answers that last. */
export interface LongAnswerDeps {
  /** True once the collector stops: they end then, and go on elsewhere. */
  readonly isDraining: () => boolean
  readonly logFailure: (thrown: unknown) => void
}

const exportParameters = v.object({
  from: time,
  until: v.optional(time),
  crew: v.optional(name),
  kickoff: v.optional(name),
  session: v.optional(name),
  user: v.optional(name),
  cursor: v.optional(v.pipe(v.string(), v.transform(readExportCursor))),
})

/** Exports at a time: each keeps a connection to the database busy. */
const EXPORTS = 2
/** A reader that takes longer for a line of 1 MiB loses its connection. */
const LINE_MS = 60_000
/** An export that takes longer ends before its end; its reader goes on with the last cursor. */
const LONGEST_MS = 3_600_000

/** Adds `/export`, which streams the spans of a range of time. */
export function addExport(app: Hono<ReadEnv>, deps: LongAnswerDeps): void {
  const inPlace = createPlaces(EXPORTS, 'Other exports are under way; try again.')
  app.get('/export', async (c) => {
    c.set('view', 'export')
    const query = readExportQuery(new URL(c.req.url).searchParams)
    return inPlace((onEnd) => send(c, query, { ...deps, onEnd }))
  })
}

function readExportQuery(parameters: URLSearchParams): ExportQuery {
  if (!parameters.has('from')) throw invalid('from', 'from is required, such as from=2026-11-21.')
  const { cursor, ...rest } = readParameters(exportParameters, parameters)
  const until = rest.until ?? new Date()
  if (rest.from >= until) {
    const given = parameters.get('until') ?? 'now'
    throw invalid('from', `from (${parameters.get('from')}) must be before until (${given}).`)
  }
  return { ...rest, until, after: cursor }
}

/** Ends without its last line when the token does, or the collector. */
async function send(
  c: Context<ReadEnv>,
  query: ExportQuery,
  { isDraining, logFailure, onEnd }: LongAnswerDeps & { onEnd: () => void },
): Promise<Response> {
  const { grant, lastingReader: reader } = c.var
  const ends = performance.now() + LONGEST_MS
  const mayGoOn = (): boolean =>
    !grant.isRevoked() && !grant.isExpired() && !isDraining() && performance.now() < ends
  const lines = exportLines(reader, query, mayGoOn)
  // Until here a failure is an answer of its own; after that it can only cut this one off.
  const first = await lines.next()
  c.set('isStreaming', true)
  const bytes = toByteStream(startingWith(first.value, lines), {
    timeoutMs: LINE_MS,
    isForEachPiece: true,
    onEnd(failure) {
      onEnd()
      c.var.finish(failure ? 500 : 200)
      if (failure) logFailure(failure)
    },
  })
  const isCompressed = acceptsGzip(c.req.header('accept-encoding') ?? '')
  const body = isCompressed ? bytes.pipeThrough(new CompressionStream('gzip')) : bytes
  return c.body(body, 200, {
    'cache-control': 'no-store',
    'content-type': 'application/x-ndjson',
    vary: 'accept-encoding',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  })
}

/** Only where it is asked for by name, and not with a weight of zero. */
const acceptsGzip = (accepted: string): boolean =>
  accepted.split(',').some((coding) => /^\s*gzip\s*(;\s*q=(1|0\.\d*[1-9])\d*\s*)?$/i.test(coding))
