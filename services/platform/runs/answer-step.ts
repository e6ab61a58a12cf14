import type { Transaction } from '../../shared/postgres/database.ts'

/** The result of a step that a run waits for. */
interface StepAnswer {
  readonly runId: string
  readonly stepKey: string
  /** JSON. */
  readonly result: unknown
  /** The event that says it. @default that the step finished */
  readonly event?: Readonly<Record<string, unknown>>
  /** More fields of that event. */
  readonly facts?: Readonly<Record<string, unknown>>
}

/** Gives a step its result, so that a new attempt continues behind it, and queues the run. */
export async function answerStep(tx: Transaction, answer: StepAnswer): Promise<void> {
  const { runId, stepKey, facts = {} } = answer
  const result = JSON.stringify(answer.result)
  const [step] = await tx<{ kind: string; name: string; startedAt: Date }[]>`
    update run_steps set state = 'finished', ended_at = now(), result = ${result}::text::json
    where run_id = ${runId} and step_key = ${stepKey} returning kind, name, started_at`
  const times = { started_at: step?.startedAt, ended_at: new Date() }
  const ended = { type: 'step_finished', kind: step?.kind, name: step?.name, ...times, ...facts }
  const event = JSON.stringify({ step: stepKey, ...(answer.event ?? ended) })
  await tx`
    insert into execution_events (execution_id, attempt, position, event)
    select e.id, e.attempt, coalesce((
        select max(position) from execution_events
        where execution_id = e.id and attempt = e.attempt), -1) + 1, ${event}::text::jsonb
    from executions e where id = ${runId}`
  await tx`
    update executions set status = 'queued', available_at = now() where id = ${runId}`
  await tx`select call_workers()`
}
