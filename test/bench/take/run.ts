import { runMsOf } from '../support/processes.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { endRuns, openQueue, openServer } from './stage.ts'
import type { Load, Queue } from './stage.ts'

const LOADS: readonly Load[] = [
  { organizations: 10, automations: 20, waiting: 1000 },
  { organizations: 10, automations: 10_000, waiting: 10_000 },
  { organizations: 1000, automations: 10_000, waiting: 10_000 },
  { organizations: 10, automations: 20, waiting: 1_000_000 },
  { organizations: 1000, automations: 10_000, waiting: 1_000_000 },
]
const LIMITS = [1, 10]
const ROUNDS = 200
/** Of one load and one limit; a few rounds are enough where each takes long. */
const SECONDS = 15
const WARM_UP = 20

/** Takes runs, and puts others in their place; returns PostgreSQL's milliseconds for the take. */
async function takeOnce({ sql, take }: Queue, limit: number): Promise<number> {
  const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`
  const before = runMsOf(pid)
  const runs = await take(limit)
  const ms = runMsOf(pid) - before
  if (runs.length !== limit) throw new Error(`${runs.length} runs of ${limit} were taken`)
  const ids = runs.map(({ id }) => id)
  await endRuns(sql, ids)
  await sql`
    insert into executions (deployment_id, inputs)
    select deployment_id, inputs from executions where id = any (${ids})`
  return ms
}

/** Takes from the queues in turns, and returns the median of each in milliseconds. */
async function measure(queues: readonly Queue[], limit: number): Promise<number[]> {
  const times = queues.map((): number[] => [])
  const until = performance.now() + SECONDS * 1000
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    if (round > WARM_UP && performance.now() > until) break
    for (const [index, queue] of queues.entries()) {
      const ms = await takeOnce(queue, limit)
      if (round >= WARM_UP) times[index]?.push(ms)
    }
  }
  return times.map((each) => quantile(each, 0.5))
}

/**
 * Measures what a take costs PostgreSQL, however many automations there are and runs wait; and
 * beside it what it costs with the queue of another checkout.
 */
export async function run(other?: string): Promise<void> {
  const server = await openServer()
  const rows: string[][] = []
  try {
    for (const load of LOADS) {
      const queues: Queue[] = []
      for (const checkout of other === undefined ? ['.'] : ['.', other]) {
        queues.push(await openQueue(server.url, checkout, load))
      }
      const medians = []
      for (const limit of LIMITS) medians.push(...(await measure(queues, limit)))
      await Promise.all(queues.map(({ sql }) => sql.end({ timeout: 5 })))
      const sizes = [load.organizations, load.automations, load.waiting]
      rows.push([...sizes.map(String), ...medians.map((ms) => ms.toFixed(2))])
    }
  } finally {
    await server.close()
  }
  const columns = LIMITS.flatMap((limit) => {
    const name = `ms to take ${limit}`
    return other === undefined ? [name] : [name, 'there']
  })
  console.log(toTable(['organizations', 'automations', 'waiting', ...columns], rows))
}
