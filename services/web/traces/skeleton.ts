import type { SkeletonColumn } from '../../shared/trace-answers/one-trace.ts'
import { readAnswers } from './read-answers.ts'

/** A span of a trace without its texts: what a tree and a time axis show. Times in nanoseconds. */
export interface SkeletonSpan {
  /** Sixteen hexadecimal digits, as `parentId`. */
  readonly id: string
  readonly parentId: string | null
  readonly name: string
  /** llm, embedding, tool, agent, task, retriever, reranker, guardrail or other; null for none. */
  readonly operationKind: string | null
  /** From the start of the trace. */
  readonly startNs: number
  /** Null while the span has no end; negative when the clock of the sender went back. */
  readonly durationNs: number | null
  /** As in OTLP: 2 is an error. */
  readonly status: number
  readonly errorType: string | null
  readonly isCall: boolean
  /** True for a call that the totals count: no other span stands for it. */
  readonly isCounted: boolean
  readonly model: string | null
  readonly agent: string | null
  readonly task: string | null
  readonly tool: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  /** What its sender says. */
  readonly costUsd: number | null
  /** By the collector's table of prices. */
  readonly computedCostUsd: number | null
}

/** The skeleton of a trace. */
export interface Skeleton {
  readonly traceId: string
  /** Milliseconds since 1970. */
  readonly startMs: number
  readonly spans: readonly SkeletonSpan[]
  /** True when the trace has more spans than are shown. */
  readonly isTruncated: boolean
}

/** Raises `bad_gateway` for anything that is not a skeleton as the collector writes it. */
export function readSkeleton(document: unknown): Skeleton {
  const answer = readAnswers.skeleton(document)
  const { trace_id: traceId, start_time_unix_nano: start, columns, spans, truncated } = answer
  return {
    traceId,
    startMs: Number(BigInt(start) / 1000n) / 1000,
    spans: spans.map(readerOf(columns)),
    isTruncated: truncated,
  }
}

/** The places of the columns are looked up once, not for each of 100,000 spans. */
function readerOf(columns: readonly string[]): (row: readonly unknown[]) => SkeletonSpan {
  const at = (column: SkeletonColumn): number => columns.indexOf(column)
  const place = {
    id: at('span_id'),
    parentId: at('parent_span_id'),
    name: at('name'),
    operationKind: at('operation_kind'),
    startNs: at('start_offset_ns'),
    durationNs: at('duration_ns'),
    status: at('status'),
    errorType: at('error_type'),
    isCall: at('llm_call'),
    isCounted: at('counted'),
    model: at('model'),
    agent: at('agent'),
    task: at('task'),
    tool: at('tool'),
    inputTokens: at('input_tokens'),
    outputTokens: at('output_tokens'),
    costUsd: at('cost_usd'),
    computedCostUsd: at('computed_cost_usd'),
  }
  return (values) => ({
    id: String(values[place.id]),
    parentId: textOf(values[place.parentId]),
    name: textOf(values[place.name]) ?? '',
    operationKind: textOf(values[place.operationKind]),
    startNs: numberOf(values[place.startNs]) ?? 0,
    durationNs: numberOf(values[place.durationNs]),
    status: numberOf(values[place.status]) ?? 0,
    errorType: textOf(values[place.errorType]),
    isCall: values[place.isCall] === true,
    isCounted: values[place.isCounted] === true,
    model: textOf(values[place.model]),
    agent: textOf(values[place.agent]),
    task: textOf(values[place.task]),
    tool: textOf(values[place.tool]),
    inputTokens: numberOf(values[place.inputTokens]),
    outputTokens: numberOf(values[place.outputTokens]),
    costUsd: numberOf(values[place.costUsd]),
    computedCostUsd: numberOf(values[place.computedCostUsd]),
  })
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
