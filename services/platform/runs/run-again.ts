import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { getDefinition } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { givenAgain } from '../definitions/crew-inputs.ts'
import { prepareInputs } from './prepare-inputs.ts'
import { stepsToKeep } from './kept-steps.ts'
import { listRunFiles } from './run-files.ts'
import { listSteps } from './run-steps.ts'
import type { ListedStep } from './run-steps.ts'
import { kickoff } from './runs.ts'
import type { AdmitRun } from './queue-room.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Run, Starter } from './runs.ts'
import { stepBase, stepKey } from '../crew-contract/step-key.ts'

/** As many steps as a list of ten thousand items has that takes some calls for each. */
const KEPT_MAX = 100_000

/** A run that is over, and where it came from. */
interface Again {
  readonly automation: Automation
  readonly run: Run
  readonly idempotencyKey?: string | undefined
  readonly starter?: Starter | undefined
  readonly admit?: AdmitRun | undefined
}

/** Starts a run with the inputs of another one and the version of now. Returns its id. */
export async function startRerun(
  sql: Database,
  { automation, run, ...rest }: Again,
): Promise<string> {
  const definition = await getDefinition(sql, automation)
  const given = givenAgain(definition, run.inputs)
  const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
  const origin = { id: run.id, action: 'rerun', carry: async () => {} } as const
  return kickoff(sql, { deploymentId: automation.id, ...prepared, ...rest, origin })
}

/**
 * Starts a run that goes on where another one failed or was stopped, or from the step that is
 * named: it keeps what finished and does not depend on that one. Returns its id. Raises `conflict`
 * while the other one goes on, or when it is completed and no step is named; `unprocessable` for a
 * step that it does not have.
 */
export async function startRetry(
  sql: Database,
  { automation, run, fromStep, ...rest }: Again & { readonly fromStep?: string | undefined },
): Promise<string> {
  requireOver(run)
  if (run.status === 'completed' && fromStep === undefined) {
    throw new AppError(
      'conflict',
      'The run is completed: there is nothing to retry. Name a step to continue from as from_step.',
    )
  }
  const steps = await listSteps(sql, run.id, KEPT_MAX)
  const { tasks } = (await getVersionOf(sql, run.id)).definition
  const kept = stepsToKeep({ steps, tasks }, fromStep)
  const keys = kept.map(({ key, parent }) => ({ from: key, key, parent }))
  const carry = carryOver(run.id, keys)
  const origin = { id: run.id, action: 'retry', fromStep, carry } as const
  const { inputs } = run
  const files = await listRunFiles(sql, run.id)
  return kickoff(sql, { deploymentId: automation.id, inputs, files, ...rest, origin })
}

/** The inputs of a fork, and the step that it goes on from. */
export interface Fork extends Again {
  readonly inputs: Inputs
  readonly fromStep?: string | undefined
}

/**
 * Starts a run of the version of another one with changed inputs. It does every step anew, or keeps
 * what finished and does not depend on the step that is named, although other inputs led to it.
 * Returns its id. Raises as `startRetry` does, and `unprocessable` for inputs that the version does
 * not take.
 */
export async function startFork(sql: Database, fork: Fork): Promise<string> {
  const { automation, run, fromStep, idempotencyKey, starter, admit } = fork
  requireOver(run)
  const version = await getVersionOf(sql, run.id)
  const { definition } = version
  const prepared = await prepareInputs(sql, { automation, definition, inputs: fork.inputs })
  const steps = fromStep === undefined ? [] : await listSteps(sql, run.id, KEPT_MAX)
  const { tasks } = definition
  const kept = fromStep === undefined ? [] : stepsToKeep({ steps, tasks }, fromStep)
  const bases = [stepBase(version.id, run.inputs), stepBase(version.id, prepared.inputs)] as const
  const carry = carryOver(run.id, renameKeys(kept, steps, bases))
  const origin = { id: run.id, action: 'fork', fromStep, carry } as const
  const by = { idempotencyKey, starter, admit }
  return kickoff(sql, { deploymentId: automation.id, ...prepared, ...by, origin })
}

function requireOver({ finishedAt }: Run): void {
  if (finishedAt !== null) return
  throw new AppError(
    'conflict',
    'The run is in progress. Wait for its end or stop it, then continue from one of its steps.',
  )
}

/** The version that a run is of; that of a draft's test has the number of the draft. */
export interface VersionOfRun {
  readonly id: number
  readonly projectId: number
  readonly version: number
  readonly definition: CrewDefinition
}

/** Returns the version that a run is of, whatever was published since. */
export async function getVersionOf(sql: Queryable, runId: string): Promise<VersionOfRun> {
  const [version] = await sql<[VersionOfRun]>`
    select v.id, v.project_id, coalesce(v.number, v.copy_of) as version, v.definition
    from executions e join project_versions v on v.id = e.project_version_id
    where e.id = ${runId}`
  return version
}

/** A step that is kept: its key in the other run, and its key and place in the new one. */
interface Kept {
  readonly from: string
  readonly key: string
  readonly parent: string | null
}

/** Other inputs make other keys: the steps are found under those of the new run. */
function renameKeys(
  kept: readonly ListedStep[],
  steps: readonly ListedStep[],
  [before, after]: readonly [string, string],
): Kept[] {
  const paths = new Map(steps.map(({ key, path }) => [key, path]))
  const renamed = (key: string): string => {
    const path = paths.get(key)
    if (path && stepKey(before, path) === key) return stepKey(after, path)
    throw new AppError(
      'unprocessable',
      'The crew of this run makes the keys of its steps in a way of its own, so none can be kept ' +
        'with other inputs. Leave from_step out.',
    )
  }
  return kept.map(({ key, parent }) => ({
    from: key,
    key: renamed(key),
    parent: parent === null ? null : renamed(parent),
  }))
}

/** Copies steps, which count as done by no attempt of the new run. */
function carryOver(fromId: string, kept: readonly Kept[]) {
  return async function carry(tx: Queryable, id: string): Promise<void> {
    if (kept.length === 0) return
    await tx`
      with kept as (
        select * from jsonb_to_recordset(${JSON.stringify(kept)}::text::jsonb)
          as k ("from" text, key text, parent text)),
      payloads as (
        insert into run_payloads (run_id, step_key, content)
        select ${id}, k.key, p.content from run_payloads p join kept k on k.from = p.step_key
        where p.run_id = ${fromId}),
      files as (
        insert into run_artifacts (run_id, name, step_key, task, content, size, left_out)
        select ${id}, a.name, k.key, a.task, a.content, a.size, a.left_out
        from run_artifacts a join kept k on k.from = a.step_key where a.run_id = ${fromId})
      insert into run_steps (run_id, step_key, position, kind, name, path, parent, state, attempt,
        started_at, ended_at, input, usage, error, result, has_payload, request_sha256)
      select ${id}, k.key, s.position, s.kind, s.name, s.path, k.parent, s.state, 0,
        s.started_at, s.ended_at, s.input, s.usage, s.error, s.result, s.has_payload,
        s.request_sha256
      from run_steps s join kept k on k.from = s.step_key where s.run_id = ${fromId}`
  }
}
