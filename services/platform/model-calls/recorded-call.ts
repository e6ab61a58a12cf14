import * as v from 'valibot'
import { completion } from '../../shared/models/llm-answer.ts'
import type { LlmCall } from '../../shared/models/llm-call.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { StepUsage } from '../crew-contract/crew-protocol.ts'
import { loadRequest } from '../runs/run-contents.ts'
import type { RunRecord } from '../runs/run-history.ts'
import type { Failure } from '../runs/runs.ts'
import { readCall } from './call-fields.ts'
import type { ChangedCall } from './change-definition.ts'

/** What a model answered, now or then. */
export interface CallAnswer {
  readonly text: string
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[]
}

/** A call of a model as a record has it. */
export interface RecordedCall {
  readonly model: string
  readonly path: readonly string[]
  readonly place: ChangedCall['place']
  /** What was asked, or why it cannot be sent again. */
  readonly asked: { readonly call: LlmCall; readonly images: number } | { readonly why: string }
  readonly answer: CallAnswer | null
  readonly error: Failure | null
  readonly usage: StepUsage | null
  readonly ms: number | null
}

interface StepRow {
  readonly name: string
  readonly path: string[]
  readonly ms: number | null
  readonly usage: StepUsage | null
  readonly error: Failure | null
  readonly request: Buffer | null
  readonly result: unknown
}

/** Finds a call of a model among the steps of a run, by the key of its step. */
export async function findRecordedCall(
  sql: Queryable,
  { id: runId }: Pick<RunRecord, 'id'>,
  step: string,
): Promise<RecordedCall | undefined> {
  const [found] = await sql<StepRow[]>`
    select name, path, usage, error, request,
      (extract(epoch from ended_at - started_at) * 1000)::int as ms,
      case when has_payload then (
        select content from run_payloads p where p.run_id = ${runId} and p.step_key = s.step_key)
      else result end as result
    from run_steps s where run_id = ${runId} and step_key = ${step} and kind = 'llm'`
  if (!found) return undefined
  const { name: model, path, request, result, ...facts } = found
  const [task, agent] = path
  const answer = v.safeParse(completion, result)
  return {
    ...facts,
    model,
    path,
    place: task === undefined || agent === undefined ? undefined : { task, agent },
    asked: await loadAsked(sql, runId, request),
    answer: answer.success
      ? { text: answer.output.text, toolCalls: answer.output.toolCalls ?? [] }
      : null,
  }
}

async function loadAsked(
  sql: Queryable,
  runId: string,
  address: Buffer | null,
): Promise<RecordedCall['asked']> {
  if (!address) {
    const why =
      'the run is older than these records, its crew does not tell them, or it was too long.'
    return { why: `What the model was asked was not recorded: ${why}` }
  }
  const request = await loadRequest(sql, { runId, address })
  if (!request) {
    return { why: 'What the model was asked is no longer kept: it was erased, or has expired.' }
  }
  const call = readCall(request)
  return call ?? { why: 'The crew recorded what it asked in a form that cannot be sent from here.' }
}
