import { ROOT_CONTEXT, trace as api } from '@opentelemetry/api'
import type { Attributes, Span } from '@opentelemetry/api'
import type { OtherEvent } from '../../platform/crew-contract/crew-event.ts'
import type { CrewEvent } from '../../platform/crew-contract/crew-protocol.ts'
import type { KeptEvent } from './call-crew.ts'
import type { LeasedRun, LostRun, RunFacts } from '../../platform/runs/run-queue.ts'
import type { Failure } from '../../platform/runs/runs.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { runSpan } from '../../shared/tracing/run-span.ts'
import type { SpanCount } from '../../shared/tracing/span-buffer.ts'
import { createSpanSender } from '../../shared/tracing/span-sender.ts'
import type { SpanSender } from '../../shared/tracing/span-sender.ts'
import type { WorkerConfig } from '../env.ts'
import { endSpan, traceCalls } from './call-spans.ts'
import type { OpenTask, Start } from './call-spans.ts'

/** The spans of one attempt of a run. */
interface RunTrace {
  /** Takes an event, and the prices that apply where the run asks for service tiers. */
  event(event: KeptEvent, tierPrices?: readonly Price[]): void
  /** Ends the open spans, with the failure if there was one; the run's own when it is over. */
  end(ending: { readonly failure?: Failure | undefined; readonly isOver: boolean }): void
}

/** The tracing of runs. */
export interface Tracing {
  /** Begins the spans of an attempt. */
  startRun(run: LeasedRun): RunTrace
  /** Ends the span of a run whose workers left it without an end. */
  giveUp(run: LostRun): void
  /** Sends what is left, within a bound. */
  stop(): Promise<void>
}

/** The tracing of an installation without a collector. */
export const noTracing: Tracing = {
  startRun: () => ({ event() {}, end() {} }),
  giveUp() {},
  stop: async () => {},
}

/** The tracing of runs through a sender of spans. */
export const createTracing = (sender: SpanSender): Tracing => ({
  startRun: (run) => traceRun(sender, run),
  giveUp: (run) => endSpan(startWhole(sender, run), new Date(), run.failure),
  stop: sender.stop,
})

type TaskStarted = Extract<CrewEvent, { type: 'task_started' }>

/**
 * Turns an attempt at a run and its events into spans: the run from its kickoff to its end, in it
 * the wait in the queue and the attempts, in those the tasks, in them their LLM calls
 * (OpenTelemetry GenAI conventions). The trace id is the kickoff id without its dashes; the times
 * of tasks and calls are the crew's own.
 *
 * Every attempt makes the span of the run anew, with the same ids and the same start: the collector
 * replaces one without an end by the one that has it.
 */
function traceRun(sender: SpanSender, run: LeasedRun): RunTrace {
  const start = starterOf(sender, run)
  const whole = startWhole(sender, run)
  let attempt: Span | undefined
  const tasks = new Map<string, OpenTask>()
  const calls = traceCalls({ start, run, tasks })
  let lastAt = new Date()
  // A later attempt waited too, but nobody wrote down since when.
  if (run.attempt === 1) start('queue', whole, { startTime: run.queuedAt }).end(lastAt)

  const startAttempt = (startTime: Date): Span =>
    start(`attempt ${run.attempt}`, whole, { startTime, attributes: { attempt: run.attempt } })

  function follow(event: Exclude<KeptEvent, OtherEvent>, tierPrices?: readonly Price[]): void {
    calls.follow(event, tierPrices)
    if (event.type === 'task_started') {
      const { task, agent, agent_role: role } = event
      const options = { startTime: new Date(event.at), attributes: taskAttributes(event, run) }
      tasks.set(task, { agent, role, span: start(`invoke_agent ${role}`, attempt, options) })
    }
    if (event.type === 'crew_completed') whole.setAttribute('output.value', event.output)
    if (event.type === 'task_completed') {
      const { span } = tasks.get(event.task) ?? {}
      span?.setAttribute('output.value', event.output)
      if (event.skipped !== undefined) span?.setAttribute('skipped', event.skipped)
      endSpan(span, new Date(event.at))
      tasks.delete(event.task)
    }
  }

  return {
    event(event, tierPrices) {
      if (event.type === 'other') return
      lastAt = new Date('ended_at' in event ? event.ended_at : event.at)
      if (event.type === 'crew_started') attempt ??= startAttempt(lastAt)
      else if (attempt) follow(event, tierPrices)
    },
    end({ failure, isOver }) {
      const at = failure ? new Date(Math.max(Date.now(), lastAt.getTime())) : lastAt
      calls.end(at, failure)
      for (const { span } of tasks.values()) endSpan(span, at, failure)
      // One that never reached its crew is timed by this worker.
      endSpan((attempt ??= startAttempt(lastAt)), at, failure)
      if (isOver) endSpan(whole, at, failure)
    },
  }
}

/**
 * Starts spans that say whose they are and what for: the calls of a crew are found and summed
 * without a look at their parents.
 */
const starterOf =
  ({ tracer }: SpanSender, run: LeasedRun): Start =>
  (name, parent, options) => {
    const attributes = { ...identity(run), ...options.attributes }
    return tracer.startSpan(
      name,
      { ...options, attributes },
      parent ? api.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
    )
  }

function startWhole({ tracer, useIds }: SpanSender, run: RunFacts): Span {
  useIds(runSpan(run.id))
  const name = `${run.definition.name}.kickoff`
  const options = { root: true, startTime: run.queuedAt, attributes: wholeAttributes(run) }
  return tracer.startSpan(name, options, ROOT_CONTEXT)
}

function identity({ id, slug, automationId, organizationId }: RunFacts): Attributes {
  return {
    kickoff_id: id,
    crew_key: slug,
    crew_id: automationId,
    automation_id: automationId,
    organization_id: String(organizationId),
  }
}

function wholeAttributes(run: RunFacts): Attributes {
  const { definition, inputs, attempt, automationName } = run
  return {
    ...identity(run),
    'gen_ai.operation.name': 'invoke_workflow',
    'gen_ai.workflow.name': definition.name,
    // Phoenix and others that read OpenInference show a kind and an input by no other names.
    'openinference.span.kind': 'CHAIN',
    'input.value': JSON.stringify(inputs),
    'input.mime_type': 'application/json',
    automation_name: automationName,
    attempt,
  }
}

function taskAttributes(event: TaskStarted, { id, definition }: RunFacts): Attributes {
  const expected = definition.tasks.find(({ key }) => key === event.task)?.expected_output
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.id': event.agent,
    'gen_ai.agent.name': event.agent_role,
    'gen_ai.conversation.id': id,
    agent_role: event.agent_role,
    task_key: event.task,
    task_name: event.task,
    task_expected_output: expected,
    'input.value': event.description,
  }
}

/** Opens what the variables ask for. Raises `invalid_configuration` without a secret. */
export function openTracing(
  { COLLECTOR_URL, COLLECTOR_JWT_SECRET, PLATFORM_VERSION }: WorkerConfig,
  log: Log,
  onSpans: (count: SpanCount) => void,
): Tracing {
  if (COLLECTOR_URL === undefined) return noTracing
  if (COLLECTOR_JWT_SECRET === undefined) {
    throw new AppError(
      'invalid_configuration',
      'COLLECTOR_URL is set and COLLECTOR_JWT_SECRET is not: the collector would refuse every ' +
        'trace. Set both, or neither.',
    )
  }
  const sender = createSpanSender({
    service: 'worker',
    collectorUrl: COLLECTOR_URL,
    secret: COLLECTOR_JWT_SECRET,
    version: PLATFORM_VERSION,
    log,
    sendsStarts: true,
    onSpans,
  })
  return createTracing(sender)
}
