import type { Queryable } from '../../shared/postgres/database.ts'
import { KICKOFF_CHARACTERS_MAX } from '../crew-contract/crew-protocol.ts'
import { isObject } from '../../shared/is-object.ts'
import { isWithinCall, shownPath } from '../crew-contract/step-key.ts'
import type { RecordedAnswer } from '../crew-contract/crew-protocol.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { StepState } from '../runs/journal-entries.ts'
import type { Failure, RunStatus } from '../runs/runs.ts'

/** The most steps that a step is within. */
const PARENTS_MAX = 20
/** The most steps of a run that is replayed. */
const STEPS_MAX = 10_000

/** The failures that programs end runs with which know no others. */
const CREW_FAILURES = ['crew_failed', 'approval_rejected']

/** A run as its record has it. */
export interface RecordedRun {
  readonly inputs: Inputs
  readonly status: RunStatus
  readonly output: string | null
  readonly error: Failure | null
  /** The id of the project version that it is of. */
  readonly versionId: number
  /** What models, tools and people answered, in the order in which they were asked first. */
  readonly answers: readonly RecordedAnswer[]
  /** The names of these steps, and where their requests are. */
  readonly places: readonly { readonly name: string; readonly request: Buffer | null }[]
}

/** Why a run cannot be replayed. */
interface Unrecorded {
  readonly why: string
}

type RunRow = Pick<RecordedRun, 'inputs' | 'status' | 'output' | 'error' | 'versionId'> & {
  readonly attempt: number
  readonly steps: number
  readonly bytes: number
}

/** Loads the record of a run, or why it is not enough for a replay. */
export async function loadRecord(sql: Queryable, runId: string): Promise<RecordedRun | Unrecorded> {
  const [run] = await sql<RunRow[]>`
    select inputs, status, output, error, attempt, project_version_id as version_id,
      s.steps, s.bytes
    from executions cross join lateral (
      select count(*)::int as steps, coalesce(sum(octet_length(result::text)), 0)::float8
        + (select coalesce(sum(octet_length(content::text)), 0)::float8 from run_payloads
          where run_id = ${runId}) as bytes
      from run_steps where run_id = ${runId}) s
    where id = ${runId}`
  if (!run) return { why: 'The run was deleted.' }
  const why = problemOfRun(run)
  if (why !== undefined) return { why }
  const steps = asSeen(run, await listRecorded(sql, runId))
  const problem = problemOfSteps(run, steps)
  if (problem !== undefined) return { why: problem }
  const asked = steps.filter(({ kind, sha256 }) => kind !== 'task' && sha256 !== null)
  const { inputs, status, output, error, versionId } = run
  const places = asked.map(({ name, request }) => ({ name, request }))
  return { inputs, status, output, error, versionId, answers: asked.map(toAnswer), places }
}

/**
 * Returns the steps as the run saw them: without what was asked within a call that has an answer of
 * its own, which stands for it; and where a later attempt took a result from its journal, without
 * the failures before it.
 */
function asSeen({ attempt }: RunRow, steps: readonly StepRow[]): StepRow[] {
  const known = new Map(steps.map((each) => [each.key, each]))
  const above = ({ parent }: StepRow) => (parent === null ? undefined : known.get(parent))
  const isPart = (step: StepRow, depth = 0): boolean => {
    const outer = depth > PARENTS_MAX ? undefined : above(step)
    if (!outer) return false
    return (outer.kind !== 'task' && outer.sha256 !== null) || isPart(outer, depth + 1)
  }
  return steps
    .filter((each) => !isWithinCall(each.path) && !isPart(each))
    .map((each) => {
      const isSeen = each.attempt === (above(each)?.attempt ?? attempt)
      return isSeen ? each : { ...each, result: withoutFailures(each.result) }
    })
}

function withoutFailures(result: unknown): unknown {
  if (!isObject(result)) return result
  const { failures: _failures, ...others } = result
  return others
}

interface StepRow {
  readonly key: string
  readonly attempt: number
  readonly kind: RecordedAnswer['kind']
  readonly name: string
  readonly path: string[]
  readonly parent: string | null
  readonly state: StepState
  readonly usage: RecordedAnswer['usage'] | null
  readonly error: Failure | null
  readonly sha256: string | null
  readonly request: Buffer | null
  readonly result: unknown
  /** Its result was kept by itself, and is not any more. */
  readonly isLost: boolean
}

const listRecorded = (sql: Queryable, runId: string): Promise<StepRow[]> => sql<StepRow[]>`
  select step_key as key, attempt, kind, name, path, parent, state, usage, error,
    encode(request_sha256, 'hex') as sha256, request, case when has_payload then (
      select content from run_payloads p where p.run_id = ${runId} and p.step_key = s.step_key)
    else result end as result,
    has_payload and not exists (
      select from run_payloads p where p.run_id = ${runId} and p.step_key = s.step_key) as is_lost
  from run_steps s where run_id = ${runId} order by position, step_key`

function problemOfRun({ status, steps, bytes }: RunRow): string | undefined {
  if (status !== 'completed' && status !== 'error') {
    return `The run is ${status}: only runs that completed or failed can be replayed.`
  }
  if (steps === 0) return 'No step of the run is kept: it did none, or its retention is over.'
  if (steps > STEPS_MAX) return `The run has ${steps} steps, and ${STEPS_MAX} is the most.`
  if (bytes <= KICKOFF_CHARACTERS_MAX) return undefined
  return `The answers of the run have ${bytes} bytes, and ${KICKOFF_CHARACTERS_MAX} is the most.`
}

function problemOfSteps({ status, error }: RunRow, steps: readonly StepRow[]): string | undefined {
  const problem = problemOfContents(steps)
  if (problem !== undefined) return problem
  const failedAsProgram = CREW_FAILURES.includes(error?.code ?? '')
  // A program fails in the middle of its tasks.
  const mayBeOpen = failedAsProgram ? 'task' : undefined
  const open = steps.find(({ kind, state }) => state === 'started' && kind !== mayBeOpen)
  if (open) return `The record ends in the middle: ${placeOf(open)} has no end.`
  const failedItself = steps.some(({ state, parent }) => state === 'failed' && parent === null)
  if (status === 'completed' || failedItself || failedAsProgram) return undefined
  return `The run was ended by the platform (${error?.code ?? 'unknown'}), not by its crew.`
}

const placeOf = ({ path }: StepRow): string => shownPath(path)

/** Says whose question or answer is not in the record. */
function problemOfContents(steps: readonly StepRow[]): string | undefined {
  const untold = steps.find(
    ({ kind, sha256 }) => (kind === 'llm' || kind === 'approval') && sha256 === null,
  )
  if (untold) {
    return (
      `What ${untold.name} was asked at ${placeOf(untold)} was not recorded: the run is older ` +
      'than these records, its crew does not tell them, or it was too long.'
    )
  }
  const calls = steps.filter(({ kind }) => kind !== 'task')
  const unkept = calls.find(({ result }) => isUnrecorded(result))
  if (unkept) {
    return `What ${unkept.name} answered at ${placeOf(unkept)} is no JSON, and was not recorded.`
  }
  const lost = calls.find(({ isLost }) => isLost)
  if (!lost) return undefined
  return (
    `What ${lost.name} answered at ${placeOf(lost)} is not kept any more: its retention is over, ` +
    'or it was erased.'
  )
}

/** What a crew says in place of a result that has no JSON. */
const isUnrecorded = (result: unknown): boolean =>
  isObject(result) && Object.keys(result).length === 1 && typeof result['unrecorded'] === 'string'

const toAnswer = ({ kind, path, state, usage, error, sha256, result }: StepRow) => ({
  kind,
  path,
  request_sha256: sha256 ?? '',
  ...(usage ? { usage } : {}),
  ...(state === 'failed' && error ? { error } : { result }),
})
