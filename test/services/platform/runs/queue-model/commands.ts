import { expect } from 'vitest'
import * as fc from 'fast-check'
import { limitConcurrency } from '../../../../../services/platform/automations/automations.ts'
import {
  startAutomation,
  stopAutomation,
} from '../../../../../services/platform/crews/automation-life.ts'
import { parkRun } from '../../../../../services/platform/runs/run-approvals.ts'
import {
  completeRun,
  failRun,
  giveUpLostRuns,
  putBackRun,
  releaseRun,
  retryRun,
} from '../../../../../services/platform/runs/run-queue.ts'
import type { Lease } from '../../../../../services/platform/runs/run-queue.ts'
import { kickoff, stopRun } from '../../../../../services/platform/runs/runs.ts'
import type { Queryable } from '../../../../../services/shared/postgres/database.ts'
import { runsOf } from './model.ts'
import type { ModelRun } from './model.ts'
import { crash, pick, step } from './step.ts'
import { takes } from './takes.ts'

const queue = (at: number, count: number, crashes: boolean) =>
  step(`queue ${count} of ${at}${crashes ? ', crash' : ''}`, async (model, sql) => {
    const line = pick(model.lines, at)
    if (!line) return
    const request = { deploymentId: line.id, inputs: {} }
    if (crashes) return crash(sql, (tx) => kickoff(tx, request))
    for (let index = 0; index < count; index += 1) {
      const id = await kickoff(sql, request)
      const place = (model.places += 1)
      const rest = { isDelayed: false, lease: undefined, lostAttempts: 0, isLost: false }
      model.runs.set(id, { id, line: line.id, state: 'queued', place, ...rest })
    }
  })

interface End {
  readonly words: string
  readonly write: (sql: Queryable, lease: Lease) => Promise<boolean>
  readonly follow: (run: ModelRun) => unknown
}

const ended = (run: ModelRun): unknown => Object.assign(run, { state: 'ended', lease: undefined })
const queued = (run: ModelRun): unknown => Object.assign(run, { state: 'queued', lease: undefined })

const ENDS: readonly End[] = [
  {
    words: 'complete',
    write: (sql, lease) =>
      completeRun(sql, lease, { output: '', usage: { inputTokens: 0, outputTokens: 0 } }),
    follow: ended,
  },
  {
    words: 'fail',
    write: (sql, lease) => failRun(sql, lease, { code: 'internal', message: '' }),
    follow: ended,
  },
  { words: 'stop', write: (sql, { id }) => stopRun(sql, id), follow: ended },
  { words: 'release', write: (sql, lease) => releaseRun(sql, lease), follow: queued },
  { words: 'put back', write: (sql, lease) => putBackRun(sql, lease), follow: queued },
  {
    words: 'retry',
    write: (sql, lease) => retryRun(sql, lease, 60),
    follow: (run) => {
      queued(run)
      run.isDelayed = true
      run.lostAttempts += 1
    },
  },
  {
    words: 'park',
    write: (sql, lease) => parkRun(sql, lease, { step: 'a', task: 'a', output: '' }),
    follow: (run) => Object.assign(run, { state: 'waiting', lease: undefined }),
  },
]

const end = ({ words, write, follow }: End, at: number, crashes: boolean) =>
  step(`${words} ${at}${crashes ? ', crash' : ''}`, async (model, sql) => {
    const run = pick(runsOf(model, 'running'), at)
    const { lease } = run ?? {}
    if (!run || !lease) return
    if (crashes) return crash(sql, (tx) => write(tx, lease))
    expect(await write(sql, lease)).toBe(true)
    run.isLost = false
    follow(run)
  })

const loseWorkers = () =>
  step('lose all workers', async (model, sql) => {
    await sql`
      update executions set lease_expires_at = now() - interval '1 s' where status = 'running'`
    for (const run of runsOf(model, 'running')) run.isLost = true
  })

const giveUp = () =>
  step('give up', async (model, sql) => {
    await giveUpLostRuns(sql)
    const lost = runsOf(model, 'running').filter((run) => run.isLost && run.lostAttempts >= 2)
    lost.forEach(ended)
  })

const resume = (at: number) =>
  step(`resume ${at}`, async (model, sql) => {
    const run = pick(runsOf(model, 'waiting'), at)
    if (!run) return
    await sql`update executions set status = 'queued', available_at = now() where id = ${run.id}`
    queued(run)
    run.place = model.places += 1
  })

const becomeDue = () =>
  step('become due', async (model, sql) => {
    const runs = runsOf(model, 'queued').filter(({ isDelayed }) => isDelayed)
    await sql`
      update executions set available_at = now() where id = any (${runs.map(({ id }) => id)})`
    const place = (model.places += 1)
    for (const run of runs) Object.assign(run, { isDelayed: false, place })
  })

const remove = (at: number) =>
  step(`delete ${at}`, async (model, sql) => {
    const run = pick([...model.runs.values()], at)
    if (!run) return
    await sql`delete from executions where id = ${run.id}`
    model.runs.delete(run.id)
  })

const limit = (at: number, to: number | null) =>
  step(`limit ${at} to ${to}`, async (model, sql) => {
    const line = pick(model.lines, at)
    if (!line) return
    await limitConcurrency(sql, line, to)
    line.limit = to ?? undefined
  })

const pause = (at: number, isStopped: boolean) =>
  step(`${isStopped ? 'stop' : 'start'} automation ${at}`, async (model, sql) => {
    const line = pick(model.lines, at)
    if (!line) return
    await (isStopped ? stopAutomation : startAutomation)(sql, line)
    line.isStopped = isStopped
  })

const index = fc.nat(20)
const crashes = fc.boolean()

/** What may happen to a queue, and where it may break. */
export const histories = fc.commands(
  [
    ...takes,
    fc.tuple(index, fc.integer({ min: 1, max: 8 }), crashes).map((of) => queue(...of)),
    fc.tuple(index, fc.integer({ min: 1, max: 8 })).map((of) => queue(...of, false)),
    ...ENDS.map((how) => fc.tuple(index, crashes).map((of) => end(how, ...of))),
    fc.constant(loseWorkers()),
    fc.constant(giveUp()),
    fc.constant(becomeDue()),
    index.map(resume),
    index.map(remove),
    fc.tuple(index, fc.option(fc.integer({ min: 1, max: 5 }))).map((of) => limit(...of)),
    fc.tuple(index, fc.boolean()).map((of) => pause(...of)),
  ],
  { maxCommands: 60, size: 'max' },
)
