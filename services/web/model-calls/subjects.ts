import { parseCrewDefinition } from '../../platform/definitions/crew-definition.ts'
import { changeDefinition } from '../../platform/model-calls/change-definition.ts'
import type { Written } from '../../platform/model-calls/change-definition.ts'
import { findRecordedCall } from '../../platform/model-calls/recorded-call.ts'
import type { RecordedCall } from '../../platform/model-calls/recorded-call.ts'
import { createVersion, findVersion } from '../../platform/projects/project-versions.ts'
import type { Version } from '../../platform/projects/project-versions.ts'
import { findRunRecord } from '../../platform/runs/run-history.ts'
import type { RunRecord } from '../../platform/runs/run-history.ts'
import { AppError } from '../../shared/errors.ts'
import type { LlmCall } from '../../shared/models/llm-call.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import type { WebDeps } from '../context.ts'
import { readSpanCall } from './span-call.ts'

/** A recorded call of a model, and the run that made it, if one did. */
export interface CallSubject {
  readonly organizationId: number
  readonly recorded: RecordedCall
  readonly run: RunRecord | undefined
}

/** A call that a run made. */
export interface OwnCall extends CallSubject {
  readonly run: RunRecord
}

/** Finds a call by the step of a run. Raises `not_found`, also for what others have. */
export async function getCallOfRun(
  sql: Database,
  organizationId: number,
  { runId, step }: { readonly runId: string; readonly step: string },
): Promise<OwnCall> {
  const run = await findRunRecord(sql, { organizationId, id: runId })
  if (!run) throw new AppError('not_found', 'Your organization has no such run.')
  const recorded = await findRecordedCall(sql, run, step)
  if (recorded) return { organizationId, recorded, run }
  throw new AppError('not_found', 'This run has no such call of a model, or no longer.')
}

/** Finds a call by its span. Raises what the collector does. */
export async function getCallOfSpan(
  { sql, traces }: WebDeps,
  organizationId: number,
  place: { readonly traceId: string; readonly spanId: string },
): Promise<CallSubject> {
  if (!traces) throw new AppError('not_found', 'This installation keeps no traces.')
  const recorded = readSpanCall(await traces(organizationId).span(place))
  // A run's id is that of its trace.
  const id = place.traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { organizationId, recorded, run: await findRunRecord(sql, { organizationId, id }) }
}

/** Returns what was asked. Raises `conflict` with the reason where that cannot be sent again. */
export function getAsked({ recorded: { asked } }: CallSubject): LlmCall {
  if ('call' in asked) return asked.call
  throw new AppError('conflict', asked.why)
}

interface WrittenCall {
  readonly changed: LlmCall
  readonly withTexts: boolean
}

/** Writes a changed call into the version of its run, or says why it cannot. */
export async function writeCall(
  sql: Queryable,
  { organizationId, recorded, run }: CallSubject,
  { changed, withTexts }: WrittenCall,
): Promise<Written> {
  if (!run) return { problem: 'The call is of no run, so that no version of a project made it.' }
  if (!('call' in recorded.asked)) return { problem: recorded.asked.why }
  const { projectId, version: number, inputs } = run
  const version = await findVersion(sql, { organizationId, projectId, number })
  if (!version) return { problem: 'The version that made the call was deleted.' }
  const call = { recorded: recorded.asked.call, changed, place: recorded.place, inputs }
  return changeDefinition(version.definition, call, { withTexts })
}

/** Adds a draft with a changed call to its project. Raises `unprocessable` with the reason. */
export async function draftCall(
  sql: Queryable,
  subject: OwnCall,
  call: WrittenCall,
): Promise<Version> {
  const written = await writeCall(sql, subject, call)
  if ('problem' in written) {
    const others = call.withTexts ? ' Write the model and its parameters alone, or edit it.' : ''
    throw new AppError('unprocessable', `${written.problem}${others}`)
  }
  const { organizationId, run } = subject
  const key = { organizationId, projectId: run.projectId }
  return createVersion(sql, key, parseCrewDefinition(written.definition))
}
