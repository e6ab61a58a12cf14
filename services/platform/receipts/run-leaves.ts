import type { Queryable } from '../../shared/postgres/database.ts'
import { costOfModels } from '../../shared/prices/find-price.ts'
import type { ModelUse } from '../../shared/prices/find-price.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { listOwnPrices, modelsCalledBy } from '../budgets/model-prices.ts'
import { digestOf, saltedHash } from './receipt-documents.ts'

interface CalledModel extends ModelUse {
  readonly calls: number
}

interface Decision {
  readonly decision: string | null
  readonly decided_at: string | null
}

interface EndedRun {
  readonly id: string
  readonly organizationId: number
  readonly projectVersionId: number
  readonly status: string
  readonly attempt: number
  readonly inputs: unknown
  readonly output: string | null
  readonly error: unknown
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | null
  readonly trigger: string | null
  readonly starterId: string | null
  readonly starterName: string | null
  readonly queuedAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date
  readonly steps: Readonly<Record<string, number>>
  readonly models: readonly CalledModel[]
  readonly decisions: readonly Decision[]
}

const RUNS_MAX = 100

/** All that has no leaf, or what came after the newest one: names of functions of the database. */
export type WithoutLeaf = 'without_leaf' | 'behind_leaves'

/** Loads the next runs that have no leaf, in the order in which they ended. */
export const loadEndedRuns = (sql: Queryable, which: WithoutLeaf): Promise<EndedRun[]> => sql<
  EndedRun[]
>`
  with ended as materialized (
    select e.* from executions e
    where id in (select run_id from ${sql(`runs_${which}`)}(${RUNS_MAX}))
    for key share skip locked)
  select e.id, organization_id, project_version_id, status, attempt, inputs, output, error, usage,
    trigger, starter_id, starter_name, queued_at, started_at, finished_at,
    (select coalesce(json_object_agg(kind, count), '{}') from (
      select kind, count(*) from run_steps where run_id = e.id group by kind) s) as steps,
    ${modelsCalledBy(sql, sql`e.id`)} as models,
    (select coalesce(json_agg(a order by asked_at, step_key), '[]') from (
      select step_key, task, proposed, asked_at, decision, answer, decided_at, decided_by
      from run_approvals where run_id = e.id) a) as decisions
  from ended e order by finished_at, id`

/** What the leaf of a run needs beside the run. */
export interface RunFacts {
  /** The SHA-256 of the definition, by the id of the version. */
  readonly versions: ReadonlyMap<number, string>
  /** Those of the platform, and of each organization. */
  readonly prices: readonly Price[]
}

/** Loads the digests of the versions of some runs, and what models cost their organizations. */
export async function loadRunFacts(
  sql: Queryable,
  runs: readonly EndedRun[],
  prices: readonly Price[],
): Promise<RunFacts> {
  const ids = [...new Set(runs.map(({ projectVersionId }) => projectVersionId))]
  const rows = await sql<{ id: number; definition: unknown }[]>`
    select id, definition from project_versions where id = any(${ids}::int[])`
  const organizations = [...new Set(runs.map(({ organizationId }) => organizationId))]
  const own = await listOwnPrices(sql, ...organizations)
  return {
    versions: new Map(rows.map(({ id, definition }) => [id, digestOf(definition)])),
    prices: [...own, ...prices],
  }
}

/** Makes the content of a leaf of a run: what people wrote is in it as salted hashes only. */
export function runLeaf(run: EndedRun, salt: Buffer, { versions, prices }: RunFacts) {
  const hashed = (name: string, value: unknown): string | null =>
    value === null ? null : saltedHash(salt, name, value)
  return {
    kind: 'run',
    organization: run.organizationId,
    id: run.id,
    version: versions.get(run.projectVersionId),
    status: run.status,
    trigger: run.trigger,
    starter: saltedHash(salt, 'starter', starterOf(run)),
    inputs: hashed('inputs', run.inputs),
    output: hashed('output', run.output),
    error: hashed('error', run.error),
    attempts: run.attempt,
    steps: run.steps,
    models: run.models,
    input_tokens: run.usage?.inputTokens ?? null,
    output_tokens: run.usage?.outputTokens ?? null,
    cost_usd:
      costOfModels(run.models, prices, {
        organization: String(run.organizationId),
        at: run.finishedAt,
      })?.toFixed(6) ?? null,
    decisions: run.decisions.map((each) => ({
      decision: each.decision,
      decided_at: each.decided_at && new Date(each.decided_at).toISOString(),
      facts: hashed('decision', each),
    })),
    queued_at: run.queuedAt.toISOString(),
    started_at: run.startedAt?.toISOString() ?? null,
    ended_at: run.finishedAt.toISOString(),
  }
}

/** Returns who started a run, as the leaf has it hashed; null where that is not known. */
export const starterOf = (run: Pick<EndedRun, 'starterId' | 'starterName'>) =>
  run.starterId === null && run.starterName === null
    ? null
    : { id: run.starterId, name: run.starterName }
