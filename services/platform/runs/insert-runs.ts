import type { Database, Queryable } from '../../shared/postgres/database.ts'
import { sqlState } from '../../shared/postgres/failures.ts'

/** A run that is to be queued. */
export interface NewRun {
  readonly deploymentId: number
  /** JSON. */
  readonly inputs: string
  /** Null: the one that its automation runs, or a release of it. */
  readonly versionId: number | null
  readonly idempotencyKey: string | null
  readonly trigger: string | null
  readonly starterId: string | null
  readonly starterName: string | null
  /** The batch that it is of. @default none */
  readonly batchId?: string
}

/** Queues a run, and returns its id once it is committed; undefined: its automation is deleted. */
export type InsertRun = (run: NewRun) => Promise<string | undefined>

/** Inserted by one statement at the most. */
const RUNS_MAX = 100
const CHARACTERS_MAX = 1_048_576
/** A second one, so that runs need not wait while the first is flushed. */
const STATEMENTS_MAX = 2

interface Waiting {
  readonly run: NewRun
  readonly resolve: (id: string | undefined) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Creates what queues the runs that arrive together in one commit: those that arrive while two
 * others are being committed share the next one. One that the database refuses fails no other.
 */
export function createRunInserter(sql: Database): InsertRun {
  const waiting: Waiting[] = []
  let statements = 0

  async function insertNext(): Promise<void> {
    const part = takePart(waiting)
    const runs = part.map(({ run }) => run)
    try {
      const ids = await insertRuns(sql, runs)
      part.forEach(({ resolve }, index) => resolve(ids[index]))
    } catch (thrown) {
      if (part.length === 1 || sqlState(thrown) === undefined) {
        for (const { reject } of part) reject(thrown)
      } else await Promise.all(part.map((each) => insertAlone(sql, each)))
    }
  }

  async function insertAll(): Promise<void> {
    while (waiting.length > 0) await insertNext()
    statements -= 1
  }

  return (run) =>
    new Promise((resolve, reject) => {
      waiting.push({ run, resolve, reject })
      if (statements === STATEMENTS_MAX) return
      statements += 1
      // What arrives in one turn of the event loop shares a commit.
      setImmediate(() => void insertAll())
    })
}

const insertAlone = (sql: Database, { run, resolve, reject }: Waiting): Promise<void> =>
  insertRuns(sql, [run]).then(([id]) => resolve(id), reject)

/** Takes what one statement has room for, the oldest first. */
function takePart(waiting: Waiting[]): Waiting[] {
  let characters = 0
  const end = waiting.findIndex(({ run }, index) => {
    characters += run.inputs.length
    return index > 0 && (index === RUNS_MAX || characters > CHARACTERS_MAX)
  })
  return waiting.splice(0, end === -1 ? waiting.length : end)
}

/** Queues runs in one statement; returns their ids, undefined for those that are refused. */
export async function insertRuns(
  sql: Queryable,
  runs: readonly NewRun[],
): Promise<(string | undefined)[]> {
  const rows = await sql<{ place: number; id: string }[]>`
    with given as materialized (
      select g.*, g.inputs::jsonb as read, new_run_id() as id
      from json_to_recordset(${JSON.stringify(runs.map(toRow))}::text::json) as g (place int,
        deployment_id int, inputs text, version_id int, idempotency_key text, trigger text,
        starter_id text, starter_name text, batch_id uuid)
      where ${isStaying(sql, sql`g.deployment_id`)}),
    added as (
      insert into executions (id, deployment_id, inputs, trigger, starter_id, starter_name,
        batch_id, project_version_id)
      select id, deployment_id, read, trigger, starter_id, starter_name, batch_id,
        coalesce(version_id, released_version(deployment_id, idempotency_key, read))
      from given order by place)
    select place, id from given`
  const ids = new Map(rows.map(({ place, id }) => [place, id]))
  return runs.map((_, place) => ids.get(place))
}

/** Inputs may hold any character, so within other JSON they are text. */
const toRow = ({ deploymentId, inputs, versionId, trigger, ...run }: NewRun, place: number) => ({
  place,
  deployment_id: deploymentId,
  inputs,
  version_id: versionId,
  idempotency_key: run.idempotencyKey,
  trigger,
  starter_id: run.starterId,
  starter_name: run.starterName,
  batch_id: run.batchId,
})

/** Holds unless the automation is being deleted. With `limit` it is looked up, and no list read. */
export const isStaying = (sql: Queryable, deploymentId: ReturnType<Queryable> | number) => sql`
  (select true from crew_settings
    where deployment_id = ${deploymentId} and removing_since is not null limit 1) is null
  and (select true from deployments
    where id = ${deploymentId} and deleting_since is not null limit 1) is null`
