import { setTimeout as delay } from 'node:timers/promises'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { deleteBudget, listBudgets, setBudget } from '../../../services/platform/budgets/budgets.ts'
import { publishVersion } from '../../../services/platform/projects/project-versions.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { orderTasks } from '../../../services/platform/definitions/task-order.ts'
import { definition as beside } from '../../faults/runs/stage.ts'
import type { Stage } from '../../faults/runs/stage.ts'
import { cpuOf, cpuOfFamily } from '../support/processes.ts'

/** The runs at a time. */
export const RUNS = 50
const POLL_MS = 50
/** Longer than a worker takes to hear of a budget. */
const BUDGET_KNOWN_MS = 2500

/** Five tasks in a row, each with a short answer. */
const chain: CrewDefinition = {
  ...beside,
  tasks: ['first', 'second', 'third', 'fourth', 'last'].map((key) => ({
    key,
    description: `[run {number} task ${key}] Answer about {topic}.`,
    expected_output: 'An answer',
    agent: 'agent',
    context: [],
  })),
}

/** The list that is done for each item has a question for each of them. */
const long: CrewDefinition = { ...beside, tasks: beside.tasks.filter(({ key }) => key !== 'each') }

/** What runs do: five short answers, or four with one of 70,000 characters beside the second. */
export const CREWS = { short: chain, long } as const

/** What was measured of some rounds. */
export interface Measured {
  /** The ms between the answers that a step waited for and its own question. */
  readonly gaps: number[]
  steps: number
  workerMs: number
  postgresMs: number
  /** How often the log of PostgreSQL was flushed. */
  flushes: number
}

export const nothingMeasured = (): Measured => ({
  gaps: [],
  steps: 0,
  workerMs: 0,
  postgresMs: 0,
  flushes: 0,
})

/** Lets the automation perform another crew from now on. */
export async function perform({ sql, automation }: Stage, crew: CrewDefinition): Promise<void> {
  const [{ projectId }] = await sql<[{ projectId: number }]>`
    select project_id from project_versions v
      join deployments d on d.project_version_id = v.id where d.id = ${automation.id}`
  const { id } = await publishVersion(sql, projectId, crew)
  await sql`update deployments set project_version_id = ${id} where id = ${automation.id}`
}

/** Gives all runs one budget that none can use up, or none. */
export async function limit({ sql, automation }: Stage, isLimited: boolean): Promise<void> {
  const { organizationId, id: deploymentId } = automation
  const key = { organizationId, deploymentId, period: 'day' } as const
  const limits = { tokensMax: 1_000_000_000, usdMax: null, unpriced: 'refuse' } as const
  const isThere = (await listBudgets(sql, { organizationId })).length > 0
  if (isThere === isLimited) return
  await (isLimited ? setBudget(sql, key, limits) : deleteBudget(sql, key))
  await delay(BUDGET_KNOWN_MS)
}

/** Does the runs of one round, and measures them. */
export async function doRuns(
  stage: Stage,
  { name, crew, into }: { name: string; crew: CrewDefinition; into: Measured },
): Promise<void> {
  const { sql, automation, model } = stage
  const before = await readCosts(stage)
  const numbers = Array.from({ length: RUNS }, (_, index) => `${name}-${index}`)
  for (const number of numbers) {
    await kickoff(sql, { deploymentId: automation.id, inputs: { topic: 'x', number } })
  }
  for (;;) {
    const [row] = await sql<[{ live: number }]>`
      select count(*)::int as live from executions where status in ('queued', 'running')`
    if (row.live === 0) break
    await delay(POLL_MS)
  }
  const after = await readCosts(stage)
  into.steps += RUNS * crew.tasks.length
  into.workerMs += after.workerMs - before.workerMs
  into.postgresMs += after.postgresMs - before.postgresMs
  into.flushes += after.flushes - before.flushes
  for (const number of numbers) into.gaps.push(...gapsOf(crew, number, model))
}

function gapsOf({ tasks }: CrewDefinition, number: string, { times }: Stage['model']): number[] {
  const timesOf = (key: string) => times.get(`${number}/${key}`)
  return orderTasks(tasks).flatMap(({ after }, index) => {
    const answered = after.map((key) => timesOf(key)?.answeredAt ?? Number.NaN)
    const asked = timesOf(tasks[index]?.key ?? '')?.askedAt ?? Number.NaN
    return after.length === 0 ? [] : [asked - Math.max(...answered)]
  })
}

async function readCosts({ sql, worker, server }: Stage) {
  const [{ flushes }] = await sql<[{ flushes: number }]>`
    select sum(fsyncs)::float8 as flushes from pg_stat_io where object = 'wal'`
  return {
    flushes,
    workerMs: cpuOf(worker.pid ?? 0) * 1000,
    postgresMs: cpuOfFamily(server.pid) * 1000,
  }
}
