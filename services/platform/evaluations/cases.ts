import { randomUUID } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import { unlessHeld } from '../runs/run-retention.ts'
import { openCaseFiles } from './files-of-cases.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { Rating } from '../traces/trace-notes.ts'

/** The most cases of a set. */
const CASES_MAX = 100_000
/** The longest inputs, as JSON, and the longest expected output, in characters. */
export const CASE_CHARACTERS_MAX = 262_144
/** The longest name of a case. */
export const CASE_NAME_MAX = 200
/** The most runs that become cases at a time. */
export const CASES_OF_RUNS_MAX = 1000
const BATCH_SIZE = 1000

/** What a version is given, and what it is expected to put out. */
export interface CaseFields {
  readonly name: string | null
  readonly inputs: Inputs
  /** null: no output is known to be right. */
  readonly expected: string | null
}

/** A case of a set. */
export interface Case extends CaseFields {
  readonly id: string
  /** Of all cases in the order in which they were added. */
  readonly position: number
  /** The run that it was made of, which may be deleted meanwhile. */
  readonly runId: string | null
}

type SetKey = { readonly id: string }

/**
 * Adds cases to a set, all or none, and keeps the files that they name. Returns how many. Raises
 * `conflict` for too many, and `unprocessable` for a file that the automation does not have.
 */
export async function addCases(
  sql: Queryable,
  set: SetKey,
  cases: Iterable<CaseFields>,
): Promise<number> {
  return inTransaction(sql, async (tx) => {
    let count = 0
    const files = await openCaseFiles(tx, set.id)
    for (const given of inBatches(cases)) {
      await grow(tx, set, given.length)
      const rows = given.map((each) => ({ ...each, id: randomUUID() }))
      const batch = await files.resolve(rows, count)
      await tx`
        insert into cases (id, set_id, name, inputs, expected)
        select c.id, ${set.id}, c.name, c.inputs, c.expected
        from jsonb_to_recordset(${JSON.stringify(batch)}::text::jsonb)
          as c (id uuid, name text, inputs jsonb, expected text)`
      await files.keep(batch)
      count += given.length
    }
    return count
  })
}

function* inBatches(cases: Iterable<CaseFields>): Generator<readonly CaseFields[]> {
  let batch: CaseFields[] = []
  for (const each of cases) {
    batch.push(each)
    if (batch.length < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function grow(tx: Transaction, { id }: SetKey, by: number): Promise<void> {
  const { count } = await tx`
    update case_sets set size = size + ${by}, revision = revision + 1
    where id = ${id} and size + ${by} <= ${CASES_MAX}`
  if (count > 0) return
  throw new AppError('conflict', `A set has at most ${CASES_MAX} cases. Make another one.`)
}

/** Which runs of an automation become cases. */
interface RunChoice {
  /** These, in place of the newest. */
  readonly kickoffIds: readonly string[]
  readonly last: number
  readonly status: 'any' | 'completed' | 'error'
  /** Only those whose trace a person rated so; null: all. */
  readonly rated: Rating | null
  /** The outputs of those that completed are what is expected. */
  readonly withExpected: boolean
}

/**
 * Makes cases of runs that have ended, with the files that they took; those that the set has, or
 * that are too long, are left out. Returns how many were added. Raises `conflict` for too many.
 */
export async function addRuns(
  sql: Queryable,
  set: SetKey & { readonly deploymentId: number },
  { kickoffIds, last, status, rated, withExpected }: RunChoice,
): Promise<number> {
  const ids = kickoffIds.filter(isUuid)
  const rating = rated === 'bad' ? -1 : 1
  return inTransaction(sql, async (tx) => {
    const [{ count }] = await tx<[{ count: number }]>`
      with added as (
      insert into cases (set_id, inputs, expected, run_id)
      select ${set.id}, inputs, case when ${withExpected} and status = 'completed' then output end,
        id
      from (
        select e.* from executions e
        where e.deployment_id = ${set.deploymentId} and e.status in ('completed', 'error')
          and ${
            kickoffIds.length > 0
              ? tx`e.id = any (${ids}::uuid[])`
              : tx`(${status} = 'any' or e.status = ${status})`
          }
          and (${rated}::text is null or exists (
            select from trace_notes n
            where n.organization_id = e.organization_id and n.trace_id = e.id
              and n.rating = ${rating}))
          and length(e.inputs::text) <= ${CASE_CHARACTERS_MAX}
          and coalesce(length(e.output), 0) <= ${CASE_CHARACTERS_MAX}
        order by e.queued_at desc, e.id limit ${last}) chosen
      order by queued_at, id
      on conflict (set_id, run_id) where run_id is not null do nothing returning id, run_id),
      kept as (
        insert into case_files (case_id, file_id)
        select a.id, f.file_id from added a join run_files f on f.run_id = a.run_id)
      select count(*)::int as count from added`
    if (count > 0) await grow(tx, set, count)
    return count
  })
}

/**
 * Deletes a case with what versions made of it. Returns false when the set has no such case. Raises
 * `conflict` for one that a hold keeps.
 */
export async function deleteCase(sql: Queryable, set: SetKey, id: string): Promise<boolean> {
  if (!isUuid(id)) return false
  return inTransaction(sql, async (tx) => {
    // Like all that changes a set, first its row and then its cases: nothing waits in a circle.
    await tx`select from case_sets where id = ${set.id} for no key update`
    const { count } = await unlessHeld(
      'this case, or what versions made of it',
      tx`delete from cases where id = ${id} and set_id = ${set.id}`,
    )
    await tx`
      update case_sets set size = size - ${count}, revision = revision + ${count}
      where id = ${set.id}`
    return count > 0
  })
}

/** Returns cases of a set in their order, those after a position. */
export const listCases = (
  sql: Queryable,
  { id }: SetKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Case[]> => sql<Case[]>`
  select id, position::float8 as position, name, inputs, expected, run_id from cases
  where set_id = ${id} and position > ${after} order by position limit ${limit}`

/** Reads all cases of a set, some at a time. */
export async function* eachCase(sql: Queryable, set: SetKey): AsyncGenerator<Case> {
  for (let after = -1; ;) {
    const cases = await listCases(sql, set, { after, limit: 200 })
    yield* cases
    const last = cases.at(-1)
    if (!last) return
    after = last.position
  }
}

/** Returns the names of the inputs that cases of a set have, at most one more than `limit`. */
export async function listCaseInputs(
  sql: Queryable,
  { id }: SetKey,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct jsonb_object_keys(inputs) as name from cases where set_id = ${id}
    order by 1 limit ${limit + 1}`
  return rows.map(({ name }) => name)
}
