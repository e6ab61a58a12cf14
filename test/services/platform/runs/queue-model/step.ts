import { expect } from 'vitest'
import type * as fc from 'fast-check'
import type { Database, Transaction } from '../../../../../services/shared/postgres/database.ts'
import type { Model } from './model.ts'

type Act = (model: Model, sql: Database) => Promise<unknown>

/** A step of a history, with its words for a report. */
class Step implements fc.AsyncCommand<Model, Database> {
  readonly #words: string
  readonly #act: Act

  constructor(words: string, act: Act) {
    this.#words = words
    this.#act = act
  }

  readonly check = (): boolean => true
  readonly run = async (model: Model, sql: Database): Promise<void> => {
    await this.#act(model, sql)
    await compare(model, sql)
  }
  readonly toString = (): string => this.#words
}

/** Makes a step; what is in the database is compared with the model after it. */
export const step = (words: string, act: Act) => new Step(words, act)

/** The states in the database are those of the model, and the counters what may be counted. */
async function compare(model: Model, sql: Database): Promise<void> {
  const rows = await sql<{ id: string; state: string }[]>`
    select id, case when finished_at is not null then 'ended' else status end as state
    from executions`
  const expected = [...model.runs.values()].map(({ id, state }) => [id, state] as const)
  expect(new Map(rows.map(({ id, state }) => [id, state]))).toEqual(new Map(expected))
  const wrong = await sql`
    with counted as (
      select deployment_id, running from queue_lines
      union all select deployment_id, running from queue_changes
      union all select deployment_id, -1 from executions where status = 'running')
    select deployment_id from counted group by deployment_id having sum(running) <> 0
    union all (
      with counted as (
        select organization_id, running from queue_organizations
        union all select organization_id, running from queue_changes
        union all select organization_id, -1 from executions where status = 'running')
      select organization_id from counted group by organization_id having sum(running) <> 0)`
  expect([...wrong]).toEqual([])
}

/** Does a transaction whose connection or server dies before it commits. */
export async function crash(
  sql: Database,
  work: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  const crashed = new Error('crashed')
  const outcome = await sql
    .begin(async (tx) => {
      await work(tx)
      throw crashed
    })
    .catch((thrown: unknown) => thrown)
  expect(outcome).toBe(crashed)
}

/** Returns the item at a place, counted around. */
export const pick = <Item>(items: readonly Item[], index: number): Item | undefined =>
  items[index % Math.max(1, items.length)]
