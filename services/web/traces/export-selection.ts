import { AppError } from '../../shared/errors.ts'
import type { TraceReader } from './trace-reader.ts'

/** The most traces of one export; the collector's own export has no such limit. */
const EXPORTED_TRACES_MAX = 1000
const PAGE_ROWS = 100

/**
 * The lines of an export of the traces of a filter, latest first: each line is the
 * ExportTraceServiceRequest of one trace, in OTLP's JSON encoding, and the last one has no spans
 * and `complete`, which is false when there are more traces. Traces that go meanwhile are left out.
 */
export async function* exportTraces(
  reader: TraceReader,
  filter: URLSearchParams,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  let count = 0
  let cursor: string | null = null
  do {
    const parameters = new URLSearchParams([...filter, ['limit', String(PAGE_ROWS)]])
    if (cursor !== null) parameters.set('cursor', cursor)
    const page = await reader.list(parameters)
    for (const { trace_id: id } of page.traces) {
      if (count === EXPORTED_TRACES_MAX) break
      yield* lineOf(reader, id)
      count++
    }
    cursor = page.next_cursor
  } while (cursor !== null && count < EXPORTED_TRACES_MAX)
  yield `{"resourceSpans":[],"complete":${cursor === null}}\n`
}

async function* lineOf(
  reader: TraceReader,
  traceId: string,
): AsyncGenerator<Uint8Array | string, void, undefined> {
  const answer = await openTrace(reader, traceId)
  if (!answer?.body) return
  for await (const chunk of answer.body) yield withoutBreaks(chunk)
  yield '\n'
}

async function openTrace(reader: TraceReader, traceId: string): Promise<Response | undefined> {
  try {
    return await reader.open(`/traces/${traceId}`)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'not_found') return undefined
    throw thrown
  }
}

const NEWLINE = 0x0a
const SPACE = 0x20

/** A line break between the values of a document means as much as a space; texts have none. */
function withoutBreaks(chunk: Uint8Array): Uint8Array {
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
    chunk[at] = SPACE
  }
  return chunk
}
