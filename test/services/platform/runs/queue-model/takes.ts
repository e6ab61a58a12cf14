import { expect } from 'vitest'
import * as fc from 'fast-check'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import type { Lease } from '../../../../../services/platform/runs/run-queue.ts'
import type { Database, Transaction } from '../../../../../services/shared/postgres/database.ts'
import { bringBackLost, checkTurns, roomOfAll, start } from './model.ts'
import type { Liberties, Model, ModelRun } from './model.ts'
import { crash, step } from './step.ts'
import { takeAsBefore, takeInTurn } from './take-as-before.ts'

type Taken = Lease & { readonly deploymentId: number }

function startAll(model: Model, taken: readonly Taken[], liberties: Liberties = {}): ModelRun[] {
  const places = new Map([...model.runs.values()].map(({ id, place }) => [id, place]))
  for (const lease of taken.toSorted((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0))) {
    start(model, { lease, ...liberties })
  }
  return taken.flatMap(({ id }) => model.runs.get(id) ?? [])
}

const take = (limit: number, crashes: boolean) =>
  step(`take ${limit}${crashes ? ', crash' : ''}`, async (model, sql) => {
    if (crashes) return crash(sql, (tx) => takeRuns(tx, limit))
    bringBackLost(model)
    const room = roomOfAll(model)
    const taken = await takeRuns(sql, limit)
    expect(taken).toHaveLength(Math.min(limit, room))
    checkTurns(model, startAll(model, taken))
  })

const takeTogether = (limits: readonly number[], former: readonly number[]) =>
  step(`take ${limits.join(', ')} at once, as before ${former.join(', ')}`, async (model, sql) => {
    bringBackLost(model)
    const all = await Promise.all<readonly Taken[]>([
      ...limits.map((limit) => takeRuns(sql, limit)),
      ...former.map((limit) => takeAsBefore(sql, limit)),
    ])
    startAll(model, all.flat(), { isFormer: former.length > 0 })
  })

type Take = (sql: Database, limit: number) => Promise<readonly Taken[]>

/** A take that is open while another one begins: that one ends, or waits for the first. */
const takeDuring = ({ first, isFormer, crashes, ...second }: Overlap) =>
  step(`${second.words} ${second.limit} during ${first}`, async (model, sql) => {
    await sql`select settle_queue(3)`
    bringBackLost(model)
    let other: Promise<readonly Taken[]> = Promise.resolve([])
    const take = async (tx: Transaction): Promise<readonly Taken[]> => {
      const taken = await (isFormer ? takeInTurn : takeNow)(tx, first)
      const waits = async () => {
        const locks = await sql`
          select from pg_locks where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`
        return locks.count > 0
      }
      let isOver = false
      other = second.take(sql, second.limit)
      const over = () => (isOver = true)
      other.then(over, over)
      await expect.poll(async () => isOver || (await waits()), { interval: 1 }).toBe(true)
      return taken
    }
    if (crashes) await crash(sql, take)
    else startAll(model, await sql.begin(take), { isFormer })
    const room = roomOfAll(model)
    const taken = await other
    startAll(model, taken, { mayOvertake: crashes, isFormer: second.take !== takeRuns })
    if (crashes || isFormer || second.take !== takeRuns) return
    expect(taken).toHaveLength(Math.min(room, second.limit))
  })

interface Overlap {
  readonly first: number
  readonly isFormer: boolean
  readonly crashes: boolean
  readonly words: string
  readonly take: Take
  readonly limit: number
}

const takeNow = (tx: Transaction, limit: number) => tx<Taken[]>`
  select id, lease_id, lost_attempts, deployment_id
  from take_runs(${limit}, '30 s', '{}') where id is not null`

const settle = () =>
  step('crash after the look', async (model, sql) => {
    await sql`select settle_queue(3)`
    bringBackLost(model)
  })

const crashes = fc.boolean()
const limits = fc.integer({ min: 1, max: 15 })
const few = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 })
const overlaps = fc.oneof(
  ...[
    { isFormer: false, words: 'take', take: takeRuns },
    { isFormer: false, words: 'take as before', take: takeAsBefore },
    { isFormer: true, words: 'take', take: takeRuns },
  ].map((who) =>
    fc
      .record({
        first: fc.integer({ min: 1, max: 6 }),
        limit: fc.integer({ min: 1, max: 6 }),
        crashes,
      })
      .map((rest) => ({ ...who, ...rest })),
  ),
)

/** Takes: alone, together, during others, and beside workers of the release before. */
export const takes = [
  fc.tuple(limits, crashes).map((of) => take(...of)),
  limits.map((of) => take(of, false)),
  few.map((of) => takeTogether(of, [])),
  fc.tuple(few, few).map((of) => takeTogether(...of)),
  overlaps.map(takeDuring),
  fc.constant(settle()),
]
