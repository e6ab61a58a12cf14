import type { Queryable } from '../../shared/postgres/database.ts'
import type { Run, RunStatus } from './runs.ts'

/** How far a task of a run has come. */
export interface RunTask {
  readonly task: string
  readonly agent: string | null
  /** A task that a run ended in the middle of has the status of the run. */
  readonly status: 'pending' | 'skipped' | Exclude<RunStatus, 'queued' | 'waiting'>
  /** The attempt at the run that performed it; null while it is pending. */
  readonly attempt: number | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly output: string | null
}

interface Row {
  readonly task: string
  readonly agent: string | null
  /** null: it is one of the version's, and nothing was told of it. */
  readonly type: 'task_started' | 'task_completed' | null
  readonly attempt: number
  readonly output: string | null
  readonly skipped: string | null
  readonly at: Date
}

type RunState = Pick<Run, 'id' | 'status'>

/**
 * Returns the tasks of a run: those of its version in their order, and then those of which only the
 * crew knew.
 */
export async function listRunTasks(sql: Queryable, run: RunState): Promise<RunTask[]> {
  const rows = await sql<Row[]>`
    select task, agent, type, attempt, output, skipped, at from (
      select planned.place, 0 as number, t ->> 'key' as task, t ->> 'agent' as agent,
        null::text as type, null::int as attempt, null::text as output, null::text as skipped,
        null::timestamptz as at
      from executions e join project_versions v on v.id = e.project_version_id,
        jsonb_array_elements(v.definition -> 'tasks') with ordinality as planned (t, place)
      where e.id = ${run.id}
      union all
      (select distinct on (event ->> 'task', event ->> 'type') null, number, event ->> 'task',
        event ->> 'agent', event ->> 'type', attempt, event ->> 'output', event ->> 'skipped',
        recorded_at
      from events_of_tasks(${run.id}) where event ->> 'task' is not null
      order by event ->> 'task', event ->> 'type', number desc)) known
    order by place, number`
  const tasks = new Map<string, RunTask>()
  for (const row of rows) tasks.set(row.task, follow(tasks.get(row.task) ?? untold(row), row, run))
  return [...tasks.values()]
}

const untold = ({ task, agent }: Row): RunTask => ({
  task,
  agent,
  status: 'pending',
  attempt: null,
  startedAt: null,
  finishedAt: null,
  output: null,
})

function follow(known: RunTask, row: Row, run: RunState): RunTask {
  const { type, agent, attempt, output, skipped, at } = row
  if (type === null) return known
  if (type === 'task_completed') {
    const status = skipped === null ? 'completed' : 'skipped'
    return { ...known, status, attempt, finishedAt: at, output }
  }
  const status = isEnded(run.status) ? run.status : 'running'
  return {
    ...known,
    agent: agent ?? known.agent,
    status,
    attempt,
    startedAt: at,
    finishedAt: null,
    output: null,
  }
}

/** Counts the tasks that a run has behind it: done, or skipped. */
export const countDone = (tasks: readonly RunTask[]): number =>
  tasks.filter(({ status }) => status === 'completed' || status === 'skipped').length

const isEnded = (status: RunStatus): status is 'completed' | 'error' | 'stopped' =>
  status !== 'queued' && status !== 'running' && status !== 'waiting'
