import { SpanStatusCode, SpanKind } from '@opentelemetry/api'
import type { Span, SpanOptions, Attributes } from '@opentelemetry/api'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type {
  CrewEvent,
  LlmCallEvent,
  ToolCallEvent,
  CrewMessage,
} from '../../platform/crew-contract/crew-protocol.ts'
import type { RunFacts } from '../../platform/runs/run-queue.ts'
import type { Failure } from '../../platform/runs/runs.ts'

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

/** A call of a tool that goes on. */
interface OpenTool {
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
  const tools = new Map<string, OpenTool>()

  /** The span of a tool that does its work by steps begins with the first of them. */
  function around({ parent = '', task }: LlmCallEvent | ToolCallEvent): Span | undefined {
    const tool = tools.get(parent)
    if (!tool) return tasks.get(task)?.span
    const { name, at } = tool.begun
    const options = { startTime: new Date(at) }
    return (tool.span ??= start(`execute_tool ${name}`, tasks.get(task)?.span, options))
  }

  return {
    begin(event: StepStarted): void {
      if (event.kind === 'tool') tools.set(event.step, { begun: event, span: undefined })
    },
    add(event: LlmCallEvent | ToolCallEvent): void {
      const { name, kind, attributes } =
        event.type === 'llm_call' ? describeLlmCall(event) : describeToolCall(event)
      const role = roleOf(run, event.agent, tasks.get(event.task))
      const known = { 'gen_ai.agent.name': role, ...attributes }
      const begun = tools.get(event.step ?? '')?.span?.setAttributes(known)
      const options = { kind, startTime: new Date(event.started_at), attributes: known }
      const span = begun ?? start(name, around(event), options)
      endSpan(span, new Date(event.ended_at), event.error)
      tools.delete(event.step ?? '')
    },
    /** Ends the calls that go on. */
    end(at: Date, failure?: Failure): void {
      for (const { span } of tools.values()) endSpan(span, at, failure)
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

/**
 * The name and the attributes of an LLM call's span, as the OpenTelemetry GenAI conventions have
 * them (SPEC 9).
 */
function describeLlmCall(event: LlmCallEvent): {
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
