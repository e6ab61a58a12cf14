import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { encodeEntries, joinEntries } from '../../../../services/platform/runs/journal-entries.ts'
import {
  recordEncoded,
  recordTogether,
} from '../../../../services/platform/runs/record-progress.ts'
import { loadJournal } from '../../../../services/platform/runs/run-steps.ts'
import type {
  JournalEntries,
  StepRecord,
} from '../../../../services/platform/runs/journal-entries.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createProgressWriter } from '../../../../services/worker/run/progress-writer.ts'
import { openPlatform } from '../harness.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 15)

let platform: Awaited<ReturnType<typeof openPlatform>>

beforeAll(async () => {
  platform = await openPlatform()
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

const openWriter = (together: readonly Database[] = [platform.sql]) =>
  createProgressWriter({ together, alone: platform.sql })

const WRITTEN = { state: 'written' }
const { signal } = new AbortController()
const startedAt = '2026-01-01T00:00:00.000Z'
const endedAt = '2026-01-01T00:00:01.000Z'

async function takeMany(count: number): Promise<LeasedRun[]> {
  const runs: LeasedRun[] = []
  for (let taken = 0; taken < count; taken += 1) {
    await platform.kickoff()
    runs.push(await platform.takeOne())
  }
  return runs
}

const started = (key: string): StepRecord => ({
  key,
  kind: 'tool',
  name: 'search',
  path: [key],
  state: 'started',
  startedAt,
})

const finished = (key: string, result: unknown): StepRecord => ({
  ...started(key),
  state: 'finished',
  endedAt,
  result,
})

const noted = (position: number, text = ''): JournalEntries => ({
  events: [{ position, event: { type: 'noted', text } }],
  steps: [],
})

/** PostgreSQL takes no NUL in an event. */
const refused = (position: number): JournalEntries => noted(position, '\0')

const commits = () => platform.sql`select distinct xmin::text from execution_events`

const textsOf = async ({ id }: LeasedRun): Promise<unknown[]> =>
  (await platform.events(id)).map((event) => event['text'])

describe('the writer of what runs report', () => {
  it('commits what several runs report at a time together', async () => {
    const writer = openWriter()
    const runs = await takeMany(5)
    const written = runs.map((run) => writer.open(run).write(noted(0, run.id), signal))
    expect(await Promise.all(written)).toEqual(Array.from({ length: 5 }, () => WRITTEN))
    for (const run of runs) expect(await textsOf(run)).toEqual([run.id])
    expect(await commits()).toHaveLength(1)
  })

  it('keeps the order of a run, whatever waits while another commit goes on', async () => {
    const writer = openWriter()
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const line = writer.open(run)
    const first = line.write(noted(0, '0'), signal)
    await new Promise(setImmediate)
    const parts = [
      { ...noted(1, '1'), steps: [started('a')] },
      { ...noted(2, '2'), steps: [finished('a', 1), started('b')] },
    ]
    const others = parts.map((part) => line.write(part, signal))
    expect(await Promise.all([first, ...others])).toEqual([WRITTEN, WRITTEN, WRITTEN])
    expect(await textsOf(run)).toEqual(['0', '1', '2'])
    expect(await commits()).toHaveLength(2)
    expect((await loadJournal(platform.sql, run.id)).steps).toMatchObject([{ result: 1 }])
  })

  it('commits what is reported during a commit after it, on the same connection', async () => {
    let spares = 0
    const spare = connectDatabase(parseAddress(platform.url), {
      name: 'spare',
      onSocket: () => (spares += 1),
    })
    const together = [platform.sql, spare]
    const writer = createProgressWriter({ together, alone: platform.sql, slowMs: 60_000 })
    const [first, ...others] = await takeMany(3)
    if (!first) throw new Error('nothing was taken')
    const written = [writer.open(first).write(noted(0), signal)]
    for (const run of others) {
      await new Promise(setImmediate)
      written.push(writer.open(run).write(noted(0), signal))
    }
    expect(await Promise.all(written)).toEqual([WRITTEN, WRITTEN, WRITTEN])
    expect(spares).toBe(0)
    await spare.end()
  })

  it('commits what is reported soon after a slow commit together', async () => {
    const writer = openWriter()
    const [slow, ...others] = await takeMany(3)
    if (!slow) throw new Error('nothing was taken')
    const first = await platform.sql.begin(async (tx) => {
      await tx`
        insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
          started_at)
        values (${slow.id}, 'a', 0, 'tool', 'search', '[]', 'started', 1, now())`
      const written = writer.open(slow).write({ events: [], steps: [finished('a', 1)] }, signal)
      await tx`select pg_sleep(0.05)`
      return { written }
    })
    await first.written
    await new Promise(setImmediate)
    const written = []
    for (const run of others) {
      written.push(writer.open(run).write(noted(0, 'x'), signal))
      // The next turn of the event loop, in which the writer would begin.
      await new Promise(setImmediate)
    }
    expect(await Promise.all(written)).toEqual([WRITTEN, WRITTEN])
    expect(await commits()).toHaveLength(1)
  })

  it('refuses the part of a run that was lost, and commits the others', async () => {
    const writer = openWriter()
    const [lost, kept] = await takeMany(2)
    if (!lost || !kept) throw new Error('nothing was taken')
    await platform.sql`update executions set lease_id = gen_random_uuid() where id = ${lost.id}`
    const written = [lost, kept].map((run) => writer.open(run).write(noted(0, 'x'), signal))
    expect(await Promise.all(written)).toEqual([{ state: 'lost' }, WRITTEN])
    expect([await textsOf(lost), await textsOf(kept)]).toEqual([[], ['x']])
  })

  it('never takes what one attempt reports for that of the next one', async () => {
    const writer = openWriter()
    const [first] = await takeMany(1)
    if (!first) throw new Error('nothing was taken')
    await platform.sql`update executions set lease_expires_at = now() - interval '1 second'`
    const second = await platform.takeOne()
    const written = [first, second].map((run, attempt) =>
      writer.open(run).write({ events: [], steps: [finished('a', attempt + 1)] }, signal),
    )
    expect(await Promise.all(written)).toEqual([{ state: 'lost' }, WRITTEN])
    expect(await loadJournal(platform.sql, first.id)).toMatchObject({
      steps: [{ result: 2 }],
      advancedIn: 2,
    })
  })

  it('fails only the run of which the database refuses something', async () => {
    const writer = openWriter()
    const [bad, good] = await takeMany(2)
    if (!bad || !good) throw new Error('nothing was taken')
    const [badLine, goodLine] = [writer.open(bad), writer.open(good)]
    const first = [
      badLine.write(refused(0), signal),
      badLine.write(noted(1, 'after it'), signal),
      goodLine.write(noted(0, 'x'), signal),
    ]
    expect(await Promise.allSettled(first)).toMatchObject([
      { status: 'rejected', reason: { code: '22P05' } },
      { status: 'fulfilled', value: WRITTEN },
      { status: 'fulfilled', value: WRITTEN },
    ])
    // From now on nothing of it disturbs the others: they are committed at once.
    const next = [badLine.write(refused(2), signal), goodLine.write(noted(1, 'y'), signal)]
    await Promise.allSettled(next)
    expect([await textsOf(bad), await textsOf(good)]).toEqual([['after it'], ['x', 'y']])
  })

  it('goes on with the others while somebody changes a run', async () => {
    const writer = openWriter()
    const [held, free] = await takeMany(2)
    if (!held || !free) throw new Error('nothing was taken')
    const heldLine = writer.open(held)
    const waiting = await platform.sql.begin(async (tx) => {
      await tx`select from executions where id = ${held.id} for update`
      const parts = [heldLine.write(noted(0, 'x'), signal), heldLine.write(noted(1, 'y'), signal)]
      expect(await writer.open(free).write(noted(0, 'z'), signal)).toEqual(WRITTEN)
      expect(await textsOf(held)).toEqual([])
      return { parts }
    })
    expect(await Promise.all(waiting.parts)).toEqual([WRITTEN, WRITTEN])
    expect(await textsOf(held)).toEqual(['x', 'y'])
  })

  it('has a run that was locked for a moment in the next commit, and not apart', async () => {
    const address = parseAddress(platform.url)
    const own = connectDatabase(address, { name: 'journal', max: 1 })
    const nowhere = connectDatabase({ ...address, database: 'none' }, { name: 'alone' })
    const writer = createProgressWriter({ together: [own], alone: nowhere })
    const [held, free] = await takeMany(2)
    if (!held || !free) throw new Error('nothing was taken')
    const waiting = await platform.sql.begin(async (tx) => {
      await tx`select from executions where id = ${held.id} for update`
      const written = writer.open(held).write(noted(0, 'x'), signal)
      expect(await writer.open(free).write(noted(0, 'z'), signal)).toEqual(WRITTEN)
      // The next commit is on the same connection, behind this.
      const unlocked = own`select from executions where id = ${held.id} for update`.execute()
      return { written, unlocked }
    })
    await waiting.unlocked
    expect(await waiting.written).toEqual(WRITTEN)
    expect(await textsOf(held)).toEqual(['x'])
    await Promise.all([own.end(), nowhere.end()])
  })

  it('commits other runs while a commit takes long', async () => {
    const own = connectDatabase(parseAddress(platform.url), { name: 'journal' })
    const writer = openWriter([platform.sql, own])
    const [slow, quick] = await takeMany(2)
    if (!slow || !quick) throw new Error('nothing was taken')
    const line = writer.open(slow)
    const blocked = await platform.sql.begin(async (tx) => {
      // The commit has to wait for the end of this: then it knows whether the step is there.
      await tx`
        insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
          started_at)
        values (${slow.id}, 'a', 0, 'tool', 'search', '[]', 'started', 1, now())`
      const parts = [line.write({ events: [], steps: [finished('a', 1)] }, signal)]
      await new Promise(setImmediate)
      parts.push(line.write(noted(0, 'after it'), signal))
      expect(await writer.open(quick).write(noted(0, 'x'), signal)).toEqual(WRITTEN)
      expect(await textsOf(slow)).toEqual([])
      return { parts }
    })
    expect(await Promise.all(blocked.parts)).toEqual([WRITTEN, WRITTEN])
    expect([await textsOf(slow), await textsOf(quick)]).toEqual([['after it'], ['x']])
    expect(await loadJournal(platform.sql, slow.id)).toMatchObject({ steps: [{ result: 1 }] })
    await own.end()
  })

  it('reads no table from end to end, however small it is', async () => {
    const own = connectDatabase(parseAddress(platform.url), { name: 'journal', looksUpRows: true })
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const entries = encodeEntries({ ...noted(0, 'x'), steps: [finished('a', 1)] })
    const read = await own.begin(async (tx) => {
      await recordTogether(tx, [{ lease: run, entries }])
      return tx`
        select relname from pg_stat_xact_user_tables
        where seq_scan > 0 and relname ~ '^(executions|followed_|run_|webhooks)'`
    })
    expect(read).toEqual([])
    expect(await textsOf(run)).toEqual(['x'])
    await own.end()
  })

  it('refuses what waits for a run that another worker takes over at that moment', async () => {
    const writer = openWriter()
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const taken = await platform.sql.begin(async (tx) => {
      await tx`update executions set lease_id = gen_random_uuid() where id = ${run.id}`
      const written = writer.open(run).write(noted(0, 'x'), signal)
      // Not by the transaction, which would see what it saw first again.
      const waiting = () => platform.sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(waiting).toHaveLength(1)
      return { written }
    })
    expect(await taken.written).toEqual({ state: 'lost' })
    expect(await textsOf(run)).toEqual([])
  })

  it('repeats a commit that a lost connection cut off', async () => {
    const own = connectDatabase(parseAddress(platform.url), { name: 'journal' })
    const writer = openWriter([own])
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const { sql } = platform
    const blocked = await sql.begin(async (tx) => {
      await tx`lock table execution_events`
      const written = writer.open(run).write(noted(0, 'x'), signal)
      const cutOff = () => sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(cutOff).toHaveLength(1)
      return { written }
    })
    expect(await blocked.written).toEqual(WRITTEN)
    expect(await textsOf(run)).toEqual(['x'])
    await own.end({ timeout: 1 })
  })

  it('writes nothing of an attempt that was ended meanwhile', async () => {
    const writer = openWriter()
    const [run] = await takeMany(1)
    if (!run) throw new Error('nothing was taken')
    const ending = new AbortController()
    const written = writer.open(run).write(noted(0), ending.signal)
    ending.abort(new Error('stopped'))
    await expect(written).rejects.toThrow('stopped')
    expect(await textsOf(run)).toEqual([])
  })
})

describe('entries that are joined', () => {
  const key = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    key.map(started),
    fc.tuple(key, fc.nat(9)).map(([name, result]) => finished(name, result)),
    key.map((name): StepRecord => ({
      ...started(name),
      state: 'failed',
      endedAt,
      error: { code: 'x', message: 'y' },
    })),
  )
  const steps = fc.uniqueArray(step, { selector: (each) => each.key, maxLength: 3 })

  it('leave the same behind as one after the other', async () => {
    const { sql } = platform
    const contentOf = ({ id }: LeasedRun) => sql`
      select step_key, state, result, error, rank() over (order by position) as place
      from run_steps where run_id = ${id} order by position`
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 4 }), async (parts) => {
        const [one, other] = await takeMany(2)
        if (!one || !other) throw new Error('nothing was taken')
        const encoded = parts.map((each) => encodeEntries({ events: [], steps: each }))
        for (const entries of encoded) await recordEncoded(sql, { lease: one, entries })
        await recordEncoded(sql, { lease: other, entries: joinEntries(encoded) })
        expect(await contentOf(other)).toEqual(await contentOf(one))
      }),
      { numRuns: RUNS },
    )
  })
})
