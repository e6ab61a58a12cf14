import { SpanStatusCode } from '@opentelemetry/api'
import type { Span, SpanOptions } from '@opentelemetry/api'
import { fillIn } from '../../platform/definitions/crew-definition.ts'
import type {
  CrewEvent,
  LlmCallEvent,
  ToolCallEvent,
} from '../../platform/crew-contract/crew-protocol.ts'
import type { RunFacts } from '../../platform/runs/run-queue.ts'
import type { Failure } from '../../platform/runs/runs.ts'
import { describeLlmCall } from './llm-span.ts'
import { describeToolCall } from './tool-span.ts'

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
