import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { limitConcurrency } from '../../../services/platform/automations/automations.ts'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { measureQueue } from '../../../services/platform/runs/queue-size.ts'
import { completeRun, takeRuns } from '../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../services/platform/runs/run-queue.ts'
import { kickoff, stopRun } from '../../../services/platform/runs/runs.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../support/platform.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let busy: Automation
let quiet: Automation
let rare: Automation

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  busy = await seedAutomation(sql, { organization: 'Acme', slug: 'busy' })
  quiet = await seedAutomation(sql, { organization: 'Acme', slug: 'quiet' })
  rare = await seedAutomation(sql, { organization: 'Other', slug: 'rare' })
})

beforeEach(async () => {
  await sql`delete from executions`
  await sql`update deployments set concurrency_max = null`
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

async function enqueue({ id }: Automation, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1)
    ids.push(await kickoff(sql, { deploymentId: id, inputs: { index } }))
  return ids
}

/**
 * Keeps `slots` runs going on, the first to start ends first, and returns who started, in order.
 * `begun` is called once the slots are full.
 */
async function starts(slots: number, begun: () => Promise<unknown> = async () => {}) {
  const running: LeasedRun[] = []
  const started: string[] = []
  for (;;) {
    const taken = await takeRuns(sql, slots - running.length)
    if (started.length === 0) await begun()
    running.push(...taken)
    started.push(...taken.map(({ slug }) => slug))
    const first = running.shift()
    if (!first) return started
    await completeRun(sql, first, { output: 'x', usage: { inputTokens: 0, outputTokens: 0 } })
  }
}

/** The places at which the runs of an automation started, counted from 1. */
const placesOf = (slug: string, started: readonly string[]): number[] =>
  started.flatMap((each, index) => (each === slug ? [index + 1] : []))

/** Queues runs of several automations of one organization, those of the first one first. */
async function flood(automations: number, runs: number): Promise<string[]> {
  const slugs = Array.from({ length: automations }, (_, index) => `flood-${index}`)
  for (const slug of slugs) {
    await enqueue(await seedAutomation(sql, { organization: 'Flooding', slug }), runs)
  }
  return slugs
}

const take = async (limit: number) => (await takeRuns(sql, limit)).map(({ slug }) => slug).sort()

describe('the queue between automations', () => {
  it('gives each its turn: one that floods the queue delays others by one turn', async () => {
    await enqueue(busy, 50)
    await enqueue(quiet, 2)
    await enqueue(rare, 1)
    expect(await take(3)).toEqual(['busy', 'quiet', 'rare'])
    expect(await take(2)).toEqual(['busy', 'quiet'])
    expect(await take(3)).toEqual(['busy', 'busy', 'busy'])
    await enqueue(rare, 1)
    expect(await take(1)).toEqual(['rare'])
  })

  it.each([4, 10])(
    'gives an organization its turns though another has more automations than %i slots',
    async (slots) => {
      await flood(20, 5)
      const started = await starts(slots, () => enqueue(rare, 20))
      expect(started).toHaveLength(120)
      const places = placesOf('rare', started)
      expect(places).toHaveLength(20)
      // Every other start from the moment it is there, until half of the slots are its own.
      for (const [index, place] of places.entries()) {
        expect(place).toBeLessThanOrEqual(slots + 2 * (index + 1))
      }
    },
  )

  it('shares the slots by organizations, not by automations', async () => {
    await flood(100, 1)
    await enqueue(rare, 8)
    const batch = await take(16)
    expect(batch.filter((slug) => slug === 'rare')).toHaveLength(8)
    await enqueue(rare, 1)
    // Eight go on of each, and the last start of both is the same: age decides.
    expect(await take(1)).not.toEqual(['rare'])
    expect(await take(1)).toEqual(['rare'])
  })

  it('gives turns also where there is one slot', async () => {
    const slugs = await flood(3, 2)
    await enqueue(rare, 3)
    const started = await starts(1)
    expect(placesOf('rare', started)).toEqual([2, 4, 6])
    const others = started.filter((slug) => slug !== 'rare')
    expect(others).toEqual([...slugs, ...slugs])
  })

  it('reads as many runs as it takes of each line, not all that wait', async () => {
    await enqueue(busy, 1)
    await sql`
      insert into executions (deployment_id, organization_id, project_version_id, inputs)
      select deployment_id, organization_id, project_version_id, inputs
      from executions, generate_series(1, 5000)`
    await sql`analyze executions`
    // One connection, because each reports what it read by itself.
    const one = connectDatabase(parseAddress(database.url), { name: 'one', max: 1 })
    const reads = async (): Promise<number> => {
      await one`select pg_stat_force_next_flush()`
      const [row] = await one<[{ rows: number }]>`
        select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_user_tables
        where relname = 'executions'`
      return row.rows
    }
    const before = await reads()
    expect(await takeRuns(one, 10)).toHaveLength(10)
    const read = (await reads()) - before
    await one.end()
    expect(read).toBeGreaterThanOrEqual(10)
    expect(read).toBeLessThan(200)
  })

  it('takes the runs of one automation in their order, and all there is room for', async () => {
    const ids = await enqueue(busy, 5)
    expect((await takeRuns(sql, 2)).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect((await takeRuns(sql, 10)).map(({ id }) => id)).toEqual(ids.slice(2))
  })

  it('never goes beyond the limit of an automation, however many workers ask at once', async () => {
    await limitConcurrency(sql, busy, 3)
    await enqueue(busy, 20)
    await enqueue(quiet, 4)
    const batches = await Promise.all(Array.from({ length: 8 }, () => takeRuns(sql, 5)))
    const slugs = batches.flat().map(({ slug }) => slug)
    expect(slugs.filter((slug) => slug === 'busy')).toHaveLength(3)
    expect(slugs.filter((slug) => slug === 'quiet')).toHaveLength(4)
    expect(await measureQueue(sql)).toMatchObject({ due: 17, heldBack: 17 })
    const [first] = batches.flat().filter(({ slug }) => slug === 'busy')
    if (!first) throw new Error('nothing was taken')
    await completeRun(sql, first, { output: 'x', usage: { inputTokens: 0, outputTokens: 0 } })
    expect(await measureQueue(sql)).toMatchObject({ due: 17, heldBack: 16 })
    expect(await take(5)).toEqual(['busy'])
  })

  it('measures what more workers could take: neither held back runs, nor their age', async () => {
    await limitConcurrency(sql, busy, 1)
    await enqueue(busy, 3)
    await enqueue(quiet, 2)
    await sql`update executions set available_at = now() - interval '100 s'
      where deployment_id = ${busy.id}`
    await sql`update executions set available_at = now() - interval '10 s'
      where deployment_id = ${quiet.id}`
    expect((await takeRuns(sql, 2)).map(({ slug }) => slug).toSorted()).toEqual(['busy', 'quiet'])
    const size = await measureQueue(sql)
    expect(size).toMatchObject({ due: 3, heldBack: 2, running: 2 })
    expect(Math.floor(size.oldestSeconds / 10)).toBeGreaterThanOrEqual(10)
    expect(size.startableSeconds).toBeGreaterThanOrEqual(10)
    expect(size.startableSeconds).toBeLessThan(size.oldestSeconds - 80)
  })

  it('counts a run whose worker was lost as waiting, not as running', async () => {
    await limitConcurrency(sql, busy, 1)
    const [lost] = await enqueue(busy, 2)
    await take(5)
    await sql`
      update executions set lease_expires_at = now() - interval '1 s'
      where status = 'running'`
    const again = await takeRuns(sql, 5)
    expect(again).toMatchObject([{ id: lost, attempt: 2 }])
  })

  it('neither takes a stopped run nor waits for a row that somebody has locked', async () => {
    const [stopped = '', held = '', free = ''] = await enqueue(busy, 3)
    await stopRun(sql, stopped)
    await sql.begin(async (tx) => {
      await tx`select 1 from executions where id = ${held} for update`
      expect((await takeRuns(sql, 5)).map(({ id }) => id)).toEqual([free])
    })
    expect((await takeRuns(sql, 5)).map(({ id }) => id)).toEqual([held])
  })

  it('is chosen from by others soon after a worker was cut off in the middle', async () => {
    await enqueue(busy, 1)
    const other = connectDatabase(parseAddress(database.url), { name: 'cut off', max: 1 })
    const cut = other.begin(async (tx) => {
      await tx`
        select set_config('idle_in_transaction_session_timeout', '200', true),
          pg_advisory_xact_lock(7310452118)`
      // Sends nothing more, as one that hangs.
      await expect.poll(() => take(1)).toEqual(['busy'])
    })
    await expect(cut).rejects.toThrow()
    await other.end({ timeout: 0 })
  })

  it('keeps a limit to the own organization, and to sensible numbers', async () => {
    const foreign = { id: busy.id, organizationId: rare.organizationId }
    expect(await limitConcurrency(sql, foreign, 1)).toBe(false)
    await expect(limitConcurrency(sql, busy, 0)).rejects.toThrow(/check/)
    expect(await limitConcurrency(sql, busy, null)).toBe(true)
  })
})
