import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { EmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import type { CrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { closeAbandonedCalls } from '../../../services/platform/budgets/budget-ledger.ts'
import { setBudget } from '../../../services/platform/budgets/budgets.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { createLog } from '../../../services/shared/log.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { retryStatement } from '../../../services/worker/run/retry-statement.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { buildPrograms } from '../../support/build.ts'
import { freePort } from '../../support/free-port.ts'
import { seedAutomation } from '../../support/platform.ts'
import { startServer } from '../postgres-server.ts'
import { openCrewAddress } from './crew-address.ts'
import type { CrewAddress } from './crew-address.ts'
import { startCountingModel } from './counting-model.ts'
import type { CountingModel } from './counting-model.ts'
import { takeLeases } from './cut-calls.ts'

export const SECRET_KEY_BASE = 'secret-key-base-'.repeat(4)
/** Enough for the calls in flight, and never waited for when nothing is. */
const DRAIN_SECONDS = '60'

/** PostgreSQL may be on its way back. */
export const PATIENCE = { forMs: 60_000, waitMs: 50 }

/** The keys of the tasks; the answer to `long` does not fit into its row. */
export const TASKS = ['first', 'second', 'long', 'each', 'last'] as const
/** The items that `each` is done for. */
export const ITEMS = [0, 1, 2, 3, 4, 5] as const

/**
 * Three calls of a model, two of them beside each other, then one for each item, some at a time,
 * and one that gets all answers.
 */
export const definition: CrewDefinition = {
  name: 'Counted',
  llm: { model: 'counting' },
  agents: [{ key: 'agent', role: 'Agent', goal: 'Answer about {topic}' }],
  inputs: [{ name: 'items', type: 'array' }],
  tasks: TASKS.map((key) => ({
    key,
    description: `[run {number} task ${key}] Answer about {topic}.`,
    expected_output: 'An answer',
    agent: 'agent',
    // These two run beside each other.
    ...(key === 'each' && {
      description: '[run {number} task each/item:{item}] Answer about {topic}.',
      for_each: '$.inputs.items',
      parallel: 3,
    }),
    ...(key === 'second' || key === 'long' ? { async: true, context: ['first'] } : {}),
  })),
}

/** A worker, a crew, a model that counts, and a PostgreSQL of their own that can be killed. */
export interface Stage {
  readonly directory: string
  readonly programs: string
  readonly port: number
  readonly sql: Database
  readonly model: CountingModel
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly address: CrewAddress
  server: EmbeddedPostgres
  worker: ChildProcess
  crew: ChildProcess
}

interface StageOptions {
  /** @default some that are built first */
  readonly bundles?: string | undefined
  /** The directory in which the data of PostgreSQL lie. @default that for temporary files */
  readonly parent?: string | undefined
  /** What runs. @default five tasks that ask a model */
  readonly crew?: CrewDefinition
}

/** Opens a stage whose model answers as late as a function says. */
export async function openStage(
  latencyMs: () => number,
  { bundles, parent = tmpdir(), crew: own = definition }: StageOptions = {},
): Promise<Stage> {
  const directory = await mkdtemp(join(parent, 'run-faults-'))
  await chmod(directory, 0o755)
  const port = await freePort()
  const programs = bundles ?? join(directory, 'build')
  if (bundles === undefined) await buildPrograms(programs)
  const server = await startServer(directory, port)
  const sql = connectDatabase(parseAddress(server.url), { name: 'faults', max: 4 })
  const folder = new URL('../../../services/platform/migrations/', import.meta.url)
  await migrate(sql, folder, createLog({ name: 'faults', level: 'silent' }))
  const model = await startCountingModel(latencyMs)
  const address = await openCrewAddress()
  const automation = await seedAutomation(sql, {
    organization: 'Acme',
    slug: 'counted',
    crew: own,
    url: address.url,
  })
  const { organizationId, id: deploymentId } = automation
  const limits = { tokensMax: 1_000_000_000, usdMax: null, unpriced: 'refuse' } as const
  await setBudget(sql, { organizationId, deploymentId, period: 'day' }, limits)
  const opened = { directory, programs, port, sql, model, automation, address, server }
  const stage = { ...opened, definition: own }
  const crew = await startCrew(stage)
  return { ...stage, crew, worker: startWorker(stage) }
}

/** Ends all programs as Kubernetes would, and returns the exit codes of worker and crew. */
export async function closeStage(stage: Stage): Promise<(number | null)[]> {
  const codes = [await end(stage.worker, 'SIGTERM'), await end(stage.crew, 'SIGTERM')]
  stage.address.close()
  await stage.model.stop()
  await stage.sql.end({ timeout: 5 })
  await stage.server.stop()
  await rm(stage.directory, { recursive: true, force: true })
  return codes
}

/** Ends all programs at once. */
export function abandonStage({ worker, crew, server }: Stage): void {
  for (const child of [worker, crew]) child.kill('SIGKILL')
  process.kill(server.pid, 'SIGKILL')
}

/** Starts a worker, with other variables than those of a stage where some are given. */
export function startWorker(
  { programs, server }: Pick<Stage, 'programs' | 'server'>,
  env: Record<string, string> = {},
): ChildProcess {
  return spawnProgram(join(programs, 'worker/main.js'), {
    DATABASE_URL: server.url,
    PORT: '0',
    HOST: '127.0.0.1',
    PLATFORM_VERSION: '1.0.0',
    SECRET_KEY_BASE,
    WORKER_CONCURRENCY: '100',
    WORKER_DRAIN_SECONDS: DRAIN_SECONDS,
    ...env,
  })
}

/** Starts the web service of a stage, without limits of calls and of the queue. */
export async function startWeb(
  { programs, server }: Pick<Stage, 'programs' | 'server'>,
  origin: string,
): Promise<ChildProcess> {
  const child = spawnProgram(join(programs, 'web/main.js'), {
    DATABASE_URL: server.url,
    HOST: '127.0.0.1',
    PORT: new URL(origin).port,
    PLATFORM_VERSION: '1.0.0',
    PLATFORM_BASE_URL: origin,
    SECRET_KEY_BASE,
    TOKEN_CALLS_PER_MINUTE: '0',
    ORGANIZATION_CALLS_PER_MINUTE: '0',
    QUEUED_RUNS_MAX: '0',
  })
  for (let tries = 0; tries < 1200; tries += 1) {
    if (await fetch(`${origin}/health`).catch(() => undefined)) return child
    if (child.exitCode !== null) throw new Error(`the web service ended with ${child.exitCode}`)
    await delay(25)
  }
  return child
}

/** Starts a crew, and leads its address there once it answers. */
async function startCrew({
  programs,
  model,
  automation,
  address,
  definition: crew,
}: Pick<
  Stage,
  'programs' | 'model' | 'automation' | 'address' | 'definition'
>): Promise<ChildProcess> {
  const port = await freePort()
  const child = spawnProgram(join(programs, 'crew/main.js'), {
    HOST: '127.0.0.1',
    PORT: String(port),
    CREW_DEFINITION: JSON.stringify(crew),
    CREW_TOKEN: crewToken(SECRET_KEY_BASE, automation.automationId),
    OPENAI_BASE_URL: model.baseUrl,
    CREW_DRAIN_SECONDS: DRAIN_SECONDS,
  })
  for (let tries = 0; tries < 1200; tries += 1) {
    if ((await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.ok) break
    if (child.exitCode !== null) throw new Error(`the crew ended with ${child.exitCode}`)
    await delay(25)
  }
  address.leadTo(port)
  return child
}

/** Starts a bundle as the chart and the Deployments of crews start it. */
export const spawnProgram = (main: string, env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, ['--max-semi-space-size=2', main], {
    env: { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'fatal', ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })

/** Ends a program, and returns its exit code. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  return child.exitCode
}

/** Kills the worker; another one finds its runs as it would once their leases have run out. */
export async function killWorker(stage: Stage): Promise<void> {
  await end(stage.worker, 'SIGKILL')
  await retryStatement(() => takeLeases(stage.sql, 'all'), PATIENCE)
  stage.worker = startWorker(stage)
}

/** Kills the crew. */
export async function killCrew(stage: Stage): Promise<void> {
  await end(stage.crew, 'SIGKILL')
  stage.crew = await startCrew(stage)
}

/** Kills PostgreSQL, which cuts nothing off: the worker waits for it. */
export async function killPostgres(stage: Stage): Promise<void> {
  process.kill(stage.server.pid, 'SIGKILL')
  await stage.server.exited
  stage.server = await startServer(stage.directory, stage.port)
}

/** Replaces the worker: the new one is there before the old one is told to end. */
export async function rollWorker(stage: Stage): Promise<void> {
  const { worker: old } = stage
  stage.worker = startWorker(stage)
  await end(old, 'SIGTERM')
}

/** Replaces the crew in the same way. */
export async function rollCrew(stage: Stage): Promise<void> {
  const { crew: old } = stage
  stage.crew = await startCrew(stage)
  await end(old, 'SIGTERM')
}

/** Takes a run from its worker, which is alive and does not know, as when it hung for long. */
export const takeLease = ({ sql }: Stage) => retryStatement(() => takeLeases(sql, 'one'), PATIENCE)

/**
 * Stops the worker until another one has taken its runs. When it wakes up, it has commits to
 * acknowledge that it made before, and does not know that its leases are over.
 */
export async function stopWorker(stage: Stage): Promise<void> {
  const { worker: old, sql } = stage
  old.kill('SIGSTOP')
  await retryStatement(() => takeLeases(sql, 'all'), PATIENCE)
  stage.worker = startWorker(stage)
  const isTaken = async (): Promise<boolean> => {
    const [left] = await sql`
      select from executions where status = 'running' and lease_expires_at < now() limit 1`
    return left === undefined
  }
  while (!(await retryStatement(isTaken, PATIENCE))) await delay(50)
  old.kill('SIGCONT')
  await end(old, 'SIGTERM')
}

/** Longer than a lease, and than a worker and a crew wait for each other. */
const PAUSE_MS = 35_000

/** Stops the worker for longer than its leases hold, while another one looks for runs. */
export async function pauseWorker(stage: Stage): Promise<void> {
  const { worker: old } = stage
  old.kill('SIGSTOP')
  stage.worker = startWorker(stage)
  await delay(PAUSE_MS)
  old.kill('SIGCONT')
  await end(old, 'SIGTERM')
}

/** Stops the crew for longer than its worker waits to hear of it, and lets it continue. */
export async function pauseCrew({ crew }: Stage): Promise<void> {
  crew.kill('SIGSTOP')
  await delay(PAUSE_MS)
  crew.kill('SIGCONT')
}

/** Lets the database answer nothing about runs for longer than their leases hold. */
export const pausePostgres = ({ sql }: Stage) =>
  sql.begin(async (tx) => {
    await tx`lock table executions in access exclusive mode`
    await delay(PAUSE_MS)
  })

/** The ledger of a budget that no run can use up, and what it should say. */
export interface BudgetLedger {
  readonly spent: number
  readonly reserved: number
  /** What all calls that finished have used. */
  readonly used: number
}

/** Reads the ledger, once nothing goes on any more. */
export function readBudget({ sql }: Stage): Promise<BudgetLedger> {
  return retryStatement(async () => {
    await closeAbandonedCalls(sql)
    const [ledger] = await sql<[BudgetLedger]>`
      select coalesce(sum(spent_tokens), 0)::int as spent,
        coalesce(sum(reserved_tokens), 0)::int as reserved, (
          select sum((usage ->> 'input_tokens')::int + (usage ->> 'output_tokens')::int)::int
          from run_steps where kind = 'llm' and state = 'finished') as used
      from budget_ledgers`
    return ledger
  }, PATIENCE)
}
