import { afterEach, describe, expect, it } from 'vitest'
import {
  announceRuns,
  forgetFollowedRuns,
  RUN_CHANGED,
} from '../../../../services/platform/runs/followed-runs.ts'
import { readEvents } from '../../../../services/platform/runs/run-events.ts'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import { completeRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import type { Lease } from '../../../../services/platform/runs/run-queue.ts'
import type { Queryable } from '../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { listen } from '../../../../services/shared/postgres/listen.ts'
import { useOneAutomation } from '../one-automation.ts'

const log = createLog({ name: 'test', level: 'silent' })
const at = useOneAutomation()
const DONE = { output: '', usage: { inputTokens: 0, outputTokens: 0 } }

afterEach(async () => {
  await at.sql`delete from executions`
  await at.sql`delete from followed_runs`
})

async function takeTwo() {
  await at.enqueue()
  await at.enqueue()
  const [one, other] = await takeRuns(at.sql, 2)
  if (!one || !other) throw new Error('nothing was taken')
  return [one, other] as const
}

const note = (sql: Queryable, run: Lease) =>
  recordProgress(sql, run, { events: [{ position: 0, event: { type: 'noted' } }], steps: [] })

/** Hears of changes until that of the run `end`. */
async function hearChanges() {
  const heard: string[] = []
  const stop = await new Promise<() => void>((resolve) => {
    const stop = listen(at.sql, {
      channel: RUN_CHANGED,
      hear: (payload) => heard.push(payload),
      onOpen: () => resolve(() => stop()),
      log,
    })
  })
  return {
    async end() {
      await at.sql`select pg_notify(${RUN_CHANGED}, 'end')`
      await expect.poll(() => heard.at(-1)).toBe('end')
      stop()
      return heard.slice(0, -1)
    },
  }
}

describe('changes of runs', () => {
  it('are announced for those that are followed, and for no other', async () => {
    const [followed, other] = await takeTwo()
    await announceRuns(at.sql, [followed.id])
    const changes = await hearChanges()
    for (const run of [followed, other]) {
      await note(at.sql, run)
      await completeRun(at.sql, run, DONE)
    }
    expect(await changes.end()).toEqual([`${followed.id} event`, `${followed.id} status`])
  })

  it('are announced no more once nobody says that the run is followed', async () => {
    const [run, later] = await takeTwo()
    await announceRuns(at.sql, [run.id, later.id])
    await at.sql`update followed_runs set until = now() where run_id = ${run.id}`
    const changes = await hearChanges()
    await note(at.sql, run)
    await forgetFollowedRuns(at.sql)
    expect(await changes.end()).toEqual([])
    expect(await at.sql`select run_id from followed_runs`).toEqual([{ runId: later.id }])
  })

  it('are there to be looked up if they were being made before', async () => {
    const [run] = await takeTwo()
    let isAnnounced = false
    const announced = await at.sql.begin(async (tx) => {
      await note(tx, run)
      const announcing = announceRuns(at.sql, [run.id]).then(() => (isAnnounced = true))
      const waits = () => at.sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await waits()).count).toBe(1)
      expect(isAnnounced).toBe(false)
      return { announcing }
    })
    await announced.announcing
    const { events } = await readEvents(at.sql, run.id, { after: 0, limit: 10 })
    expect(events).toMatchObject([{ event: { type: 'noted' } }])
  })

  it('are announced to several who say at a time that they follow the same runs', async () => {
    const runs = await takeTwo()
    const ids = runs.map(({ id }) => id)
    const both = [ids, [...ids].reverse()]
    await Promise.all([...both, ...both, ...both].map((each) => announceRuns(at.sql, each)))
    expect((await at.sql`select from followed_runs`).count).toBe(2)
  })
})
