import type * as journalEntries from '../../../services/platform/runs/journal-entries.ts'
import type {
  JournalEntries,
  RunEntries,
  StepRecord,
} from '../../../services/platform/runs/journal-entries.ts'
import type * as recordProgress from '../../../services/platform/runs/record-progress.ts'
import { recordRequest } from '../../../services/platform/runs/run-contents.ts'
import type * as runQueue from '../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../support/platform.ts'
import { runMsOf } from '../support/processes.ts'
import { quantile, toTable } from '../support/statistics.ts'
import { endRuns, openDatabase, openServer } from '../take/stage.ts'

/** The runs whose steps share a commit. */
const SIZES = [1, 2, 10]
/** Of a run, one after the other. */
const TASKS = 5
const ROUNDS = 60
const WARM_UP = 10

/** Makes a database of a checkout; its rounds return PostgreSQL's milliseconds for each commit. */
async function openJournal(url: string, checkout: string) {
  const { root, address, sql } = await openDatabase(url, checkout)
  const load = async (file: string) => import(new URL(`runs/${file}`, root).href)
  const { recordTogether }: typeof recordProgress = await load('record-progress.ts')
  const { encodeEntries }: typeof journalEntries = await load('journal-entries.ts')
  const { takeRuns }: typeof runQueue = await load('run-queue.ts')
  const journal = connectDatabase(address, { name: 'journal', max: 1, looksUpRows: true })
  const [{ pid }] = await journal<[{ pid: number }]>`select pg_backend_pid() as pid`
  const { id: deploymentId } = await seedAutomation(sql, { organization: 'Acme', slug: 'commits' })

  async function commit(runs: readonly RunEntries[]): Promise<number> {
    const before = runMsOf(pid)
    const written = await recordTogether(journal, runs)
    if (written.some(({ state }) => state !== 'written')) throw new Error('a commit was refused')
    return runMsOf(pid) - before
  }

  return {
    async performRuns(count: number): Promise<number[]> {
      for (let run = 0; run < count; run += 1) await kickoff(sql, { deploymentId, inputs: {} })
      const leases = await takeRuns(sql, count)
      if (leases.length !== count) throw new Error(`${leases.length} runs of ${count} were taken`)
      const runs = leases.map((lease) => ({ lease, report: reportSteps() }))
      const times: number[] = []
      for (let task = 0; task < TASKS; task += 1) {
        const given = runs.map(({ lease, report }) => ({
          lease,
          entries: encodeEntries(report(task)),
        }))
        times.push(await commit(given))
      }
      await endRuns(
        sql,
        leases.map(({ id }) => id),
      )
      return times
    },
    close: () => Promise.all([sql.end({ timeout: 5 }), journal.end({ timeout: 5 })]),
  }
}

/** Returns what a crew reports at once: the end of a task and its call, and the next of both. */
function reportSteps(): (task: number) => JournalEntries {
  const known = new Set<string>()
  let open: readonly StepRecord[] = []
  let position = 0
  return (task) => {
    const at = new Date().toISOString()
    const ended = open.map((step) => ({
      ...step,
      state: 'finished' as const,
      endedAt: at,
      usage: { input_tokens: 120, output_tokens: 80 },
      result: { output: 'Whales sing. '.repeat(20) },
    }))
    const { parts, steps } = beginTask(task, at, known)
    open = steps
    const told = (type: string, of: number) => ({
      position: position++,
      event: { type, at, step: `${of}-task`, task: `task-${of}` },
    })
    const before = task > 0 ? [told('llm_call', task - 1), told('task_completed', task - 1)] : []
    return {
      events: [...before, told('task_started', task)],
      steps: [...ended.toReversed(), ...steps],
      parts,
    }
  }
}

/** The steps of a task that begins, and what its model is asked that is not stored yet. */
function beginTask(task: number, at: string, known: Set<string>) {
  const messages = [
    { role: 'system', content: 'You are a researcher. You find what others have missed.' },
    { role: 'user', content: `Task ${task}. Write three sentences about whales.` },
  ]
  const { parts, ...request } = recordRequest({ model: 'gpt-4o', messages }, known)
  const step = { state: 'started', startedAt: at } as const
  const name = `task-${task}`
  const path = [name, 'agent', 'llm', '0']
  const key = `${task}-task`
  const call = { ...step, key: `${task}-llm`, kind: 'llm', name: 'gpt-4o', path } as const
  const steps: readonly StepRecord[] = [
    { ...step, key, kind: 'task', name, path: [name] },
    { ...call, parent: key, request },
  ]
  return { parts, steps }
}

/**
 * Measures what it costs PostgreSQL to commit the step of a run, alone and with those of others;
 * and beside it what it costs with the journal of another checkout, in turns.
 */
export async function run(other?: string): Promise<void> {
  const server = await openServer()
  const checkouts = other === undefined ? ['.'] : ['.', other]
  try {
    const journals = await Promise.all(checkouts.map((each) => openJournal(server.url, each)))
    const rows: string[][] = []
    for (const size of SIZES) {
      const times = journals.map((): number[] => [])
      for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
        for (const [at, journal] of journals.entries()) {
          const [, ...taken] = await journal.performRuns(size)
          if (round >= WARM_UP) times[at]?.push(...taken)
        }
      }
      const medians = times.map((each) => quantile(each, 0.5) / size)
      rows.push([String(size), ...medians.map((ms) => ms.toFixed(3))])
    }
    await Promise.all(journals.map((each) => each.close()))
    const columns = other === undefined ? ['ms a step'] : ['ms a step', 'there']
    console.log(toTable(['runs a commit', ...columns], rows))
  } finally {
    await server.close()
  }
}
