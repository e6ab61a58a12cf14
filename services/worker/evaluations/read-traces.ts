import * as v from 'valibot'
import { callCollector, readText } from '../../shared/collector-call.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import { tracePage } from '../../shared/trace-answers/lists.ts'
import type { TracePage } from '../../shared/trace-answers/lists.ts'
import { skeleton, spanView } from '../../shared/trace-answers/one-trace.ts'
import type { Message, SkeletonColumn } from '../../shared/trace-answers/one-trace.ts'

/** A trace, as a list of the collector has it. */
export type ListedTrace = TracePage['traces'][number]

/** What a trace was asked and answered, and the tools that it called, in their order. */
export interface SaidInTrace {
  readonly input: string
  readonly output: string
  readonly tools: readonly string[]
}

/** The traces of an organization. Each raises `unavailable`, `timeout` and `bad_gateway`. */
export interface ForeignTraces {
  list(query: URLSearchParams): Promise<TracePage>
  /** Undefined where the trace has expired, or says nothing. */
  read(trace: ListedTrace): Promise<SaidInTrace | undefined>
}

const CALL_MS = 10_000
/** Of a longer trace, the first spans say which tools were called. */
const SPANS_MAX = 2000
const MISSING = 'The trace has expired.'

/** Opens the traces of an organization in the collector, until a signal aborts. */
export function openForeignTraces(
  collector: CollectorPlace,
  organizationId: number,
  signal: AbortSignal,
): ForeignTraces {
  const claims = { organization: String(organizationId), scopes: ['traces:read'] } as const
  const limit = { name: 'The trace collector', timeoutMs: CALL_MS, signal }

  async function read<Schema extends v.GenericSchema>(schema: Schema, path: string) {
    const text = await deadline(limit, async (stop) =>
      readText(await callCollector(collector, { path, claims, missing: MISSING }, stop)),
    )
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text)
    if (parsed.success) return parsed.output
    throw new AppError('bad_gateway', 'The trace collector answered with something else.')
  }

  async function messagesOf(traceId: string, spanId: string) {
    return (await read(spanView, `/traces/${traceId}/spans/${spanId}`)).messages
  }

  async function said(trace: ListedTrace): Promise<SaidInTrace | undefined> {
    const { trace_id: id, root_span_id: root } = trace
    const query = `view=skeleton&limit=${SPANS_MAX}`
    const { columns, spans } = await read(skeleton, `/traces/${id}?${query}`)
    const valueIn = (row: readonly unknown[], column: SkeletonColumn) =>
      row[columns.indexOf(column)]
    const calls = spans.filter((row) => valueIn(row, 'llm_call') === true)
    const textIn = (row: readonly unknown[] | undefined, column: SkeletonColumn) => {
      const value = row && valueIn(row, column)
      return typeof value === 'string' ? value : undefined
    }
    const tools = spans.flatMap((row) => textIn(row, 'tool') ?? [])
    const first = root ?? textIn(calls[0], 'span_id')
    const last = textIn(calls.at(-1), 'span_id')
    let [input, output] = ['', '']
    for (const span of new Set([first, textIn(calls[0], 'span_id'), last])) {
      if (span === undefined || output !== '') continue
      const messages = await messagesOf(id, span)
      input ||= textOf(messages.input.findLast(({ role }) => role === 'user'))
      output = textOf(messages.output.at(-1))
      // The answer of a call in the middle is not that of the trace.
      if (span !== first && span !== last) output = ''
    }
    return output === '' ? undefined : { input, output, tools }
  }

  return {
    list: (query) => read(tracePage, `/traces?${query.toString()}`),
    read: (trace) =>
      said(trace).catch((thrown: unknown) => {
        if (thrown instanceof AppError && thrown.code === 'not_found') return undefined
        throw thrown
      }),
  }
}

const textOf = (message: Message | undefined): string =>
  (message?.content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
