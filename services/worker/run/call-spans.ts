import { SpanStatusCode, SpanKind } from '@opentelemetry/api'
import type { Span, SpanOptions, Attributes } from '@opentelemetry/api'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type {
  CrewEvent,
  LlmCallEvent,
  ToolCallEvent,
  CrewMessage,
} from '../../platform/crew-contract/crew-protocol.ts'
import { isRepetition } from '../../platform/crew-contract/step-key.ts'
import type { RunFacts } from '../../platform/runs/run-queue.ts'
import type { Failure } from '../../platform/runs/runs.ts'
import { costOf, pricesOfTiers } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'

/** The types of tools that call another service. */
const REMOTE = new Set(['mcp', 'http', 'fetch'])

/** Starts a span of a run. */
export type Start = (name: string, parent: Span | undefined, options: SpanOptions) => Span

/** A task that goes on; several may at the same time. */
export interface OpenTask {
  readonly span: Span
  readonly agent: string
  readonly role: string
}

type StepStarted = Extract<CrewEvent, { type: 'step_started' }>

type StepEnded = Extract<CrewEvent, { type: 'step_finished' | 'step_failed' }>

/** A call of a tool that goes on, or a task once more: for an item, or another try. */
interface OpenPart {
  readonly begun: StepStarted
  span: Span | undefined
}

interface CallTracing {
  readonly start: Start
  readonly run: RunFacts
  /** Those that go on, by their keys. */
  readonly tasks: ReadonlyMap<string, OpenTask>
}

/** Turns the calls of models and tools into spans, each below what it is a part of. */
export function traceCalls({ start, run, tasks }: CallTracing) {
  const parts = new Map<string, OpenPart>()

  /** The span of what does its work by steps begins with the first of them. */
  function around(whole = '', task = ''): Span | undefined {
    const part = parts.get(whole)
    if (!part) return tasks.get(task)?.span
    const { kind, name, at, parent } = part.begun
    const options = { startTime: new Date(at), attributes: { task_key: task } }
    const title = kind === 'tool' ? `execute_tool ${name}` : name
    return (part.span ??= start(title, around(parent, task), options))
  }

  function begin(event: StepStarted): void {
    const { kind, step, path } = event
    if (kind !== 'tool' && !isRepetition(kind, path)) return
    parts.set(step, { begun: event, span: undefined })
  }

  /** A call of a tool ends by its own event. */
  function finish(event: StepEnded): void {
    const part = parts.get(event.step)
    if (part?.begun.kind !== 'task') return
    endSpan(part.span, new Date(event.at), event.type === 'step_failed' ? event.error : undefined)
    parts.delete(event.step)
  }

  function add(event: LlmCallEvent | ToolCallEvent, tierPrices: readonly Price[]): void {
    const { name, kind, attributes } =
      event.type === 'llm_call'
        ? describeLlmCall(event, tierCost(event, tierPrices, run))
        : describeToolCall(event)
    const role = roleOf(run, event.agent, tasks.get(event.task))
    const known = { 'gen_ai.agent.name': role, ...attributes }
    const begun = parts.get(event.step ?? '')?.span?.setAttributes(known)
    const options = { kind, startTime: new Date(event.started_at), attributes: known }
    const span = begun ?? start(name, around(event.parent, event.task), options)
    endSpan(span, new Date(event.ended_at), event.error)
    parts.delete(event.step ?? '')
  }

  return {
    /** Takes any event, and leaves what is of no call. */
    follow(event: CrewEvent, tierPrices: readonly Price[] = []): void {
      if (event.type === 'step_started') begin(event)
      if (event.type === 'step_finished' || event.type === 'step_failed') finish(event)
      if (event.type === 'llm_call' || event.type === 'tool_call') add(event, tierPrices)
    },
    /** Ends the calls that go on. */
    end(at: Date, failure?: Failure): void {
      for (const { span } of parts.values()) endSpan(span, at, failure)
    },
  }
}

/** Ends a span, with the failure if there was one. */
export function endSpan(span: Span | undefined, at: Date, failure?: Failure): void {
  if (failure) {
    const { code, message } = failure
    span?.setAttribute('error.type', code)
    span?.recordException({ name: code, message }, at)
    span?.setStatus({ code: SpanStatusCode.ERROR, message })
  }
  span?.end(at)
}

/** An agent that was given work has another role than the one that does the task. */
function roleOf({ definition, inputs }: RunFacts, key: string, task?: OpenTask) {
  const found = definition.agents.find((agent) => agent.key === key)
  return found && key !== task?.agent ? fillIn(found.role, inputs) : task?.role
}

/** Returns what a call cost by the price of its service tier, which collectors do not know. */
function tierCost(
  event: LlmCallEvent,
  prices: readonly Price[],
  { organizationId }: RunFacts,
): number | undefined {
  const { request_model: model, service_tier: tier = '', started_at } = event
  const when = { organization: String(organizationId), at: new Date(started_at) }
  const price = pricesOfTiers(prices, { model, ...when })[tier]
  return price && costOf(event, price)
}

/**
 * The name and the attributes of an LLM call's span, as the OpenTelemetry GenAI conventions have
 * them (SPEC 9).
 */
function describeLlmCall(
  event: LlmCallEvent,
  usd: number | undefined,
): {
  name: string
  kind: SpanKind
  attributes: Attributes
} {
  return {
    name: `chat ${event.request_model}`,
    kind: SpanKind.CLIENT,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.output.type': 'text',
      'gen_ai.provider.name': event.provider,
      'gen_ai.agent.id': event.agent,
      'gen_ai.request.model': event.request_model,
      'gen_ai.response.model': event.response_model,
      fallback_for: event.instead_of?.model,
      fallback_reason: event.instead_of?.error.message,
      'openai.request.service_tier': event.refused_tier?.tier,
      'openai.response.service_tier': event.service_tier,
      service_tier_refused: event.refused_tier?.error.message,
      'gen_ai.usage.cost': usd,
      'gen_ai.response.id': event.response_id,
      'gen_ai.response.finish_reasons':
        event.finish_reason === undefined ? undefined : [event.finish_reason],
      'gen_ai.usage.input_tokens': event.input_tokens,
      'gen_ai.usage.output_tokens': event.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': event.cached_input_tokens,
      'gen_ai.usage.reasoning.output_tokens': event.reasoning_output_tokens,
      'gen_ai.input.messages': messages(event.messages_in),
      'gen_ai.output.messages':
        event.messages_out.length === 0
          ? undefined
          : messages(event.messages_out, event.finish_reason),
      'server.address': event.server_address,
      'server.port': event.server_port,
      'http.request.resend_count': event.attempts > 1 ? event.attempts - 1 : undefined,
      task_key: event.task,
    },
  }
}

/** The conventions' JSON of a conversation: each message is made of parts. */
function messages(said: LlmCallEvent['messages_in'], finish_reason?: string): string {
  return JSON.stringify(
    said.map((message) => ({ role: message.role, parts: partsOf(message), finish_reason })),
  )
}

function partsOf({ content, tool_calls = [], tool_call_id }: CrewMessage) {
  if (tool_call_id !== undefined) {
    return [{ type: 'tool_call_response', id: tool_call_id, response: content }]
  }
  const calls = tool_calls.map(({ id, name, arguments: given }) => ({
    type: 'tool_call',
    id,
    name,
    arguments: given,
  }))
  return content === '' && calls.length > 0 ? calls : [{ type: 'text', content }, ...calls]
}

/**
 * The name, the kind and the attributes of a tool call's span, as the OpenTelemetry GenAI
 * conventions have them.
 */
function describeToolCall(event: ToolCallEvent): {
  name: string
  kind: SpanKind
  attributes: Attributes
} {
  const isRemote = REMOTE.has(event.tool_type ?? '')
  return {
    name: `execute_tool ${event.name}`,
    kind: isRemote ? SpanKind.CLIENT : SpanKind.INTERNAL,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': event.name,
      'gen_ai.tool.type': isRemote ? 'extension' : 'function',
      'gen_ai.tool.call.id': event.call_id,
      'gen_ai.tool.call.arguments': event.arguments,
      'gen_ai.tool.call.result': event.result,
      'gen_ai.agent.id': event.agent,
      task_key: event.task,
    },
  }
}
