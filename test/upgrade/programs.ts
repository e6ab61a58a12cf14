import { execFile, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crewToken } from '../../services/shared/crew-token.ts'
import { freePort } from '../support/free-port.ts'
import type { Release } from './releases.ts'

const SECRET = 'secret-key-base-'.repeat(4)
/** Signs the tokens of senders. */
export const COLLECTOR_SECRET = 'collector-secret-'.repeat(3)
const HEALTH_MS = 120_000

/** Where the programs of all releases work. */
export interface Place {
  readonly platformUrl: string
  readonly tracesUrl: string
  readonly modelUrl: string
  /** What programs said at the level `error`, and what they wrote otherwise. */
  readonly complaints: string[]
}

/** A program that runs. */
interface Running {
  readonly url: string
  readonly port: number
  /** Ends it as Kubernetes would; returns its exit code. */
  stop(): Promise<number | null>
  /** Ends it at once. */
  kill(): void
}

/** All programs of one release that serve. */
export interface Fleet {
  readonly release: Release
  readonly web: Running
  readonly worker: Running
  readonly collector: Running
  readonly crew: Running
}

const base = { HOST: '127.0.0.1', LOG_LEVEL: 'error' }
const mainOf = ({ programs }: Release, service: string): string =>
  join(programs, service, 'main.js')
const environment = (env: Readonly<Record<string, string>>) => ({
  PATH: process.env['PATH'] ?? '',
  ...base,
  ...env,
})

/** Runs a task of a release on the main database, and returns what it prints. */
export async function runTask(
  release: Release,
  { platformUrl }: Place,
  args: readonly string[],
): Promise<string> {
  const env = environment({ DATABASE_URL: platformUrl, SECRET_KEY_BASE: SECRET })
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [mainOf(release, 'tasks'), ...args],
    { env },
  )
  return stdout.trim()
}

const collectorEnv = ({ tracesUrl }: Place) => ({
  DATABASE_URL: tracesUrl,
  COLLECTOR_JWT_SECRET: COLLECTOR_SECRET,
})

/** Brings both databases to the schema of a release, as its init containers do. */
export async function migrateBoth(release: Release, place: Place): Promise<void> {
  await runTask(release, place, ['migrate'])
  const args = [mainOf(release, 'collector'), 'migrate']
  await promisify(execFile)(process.execPath, args, { env: environment(collectorEnv(place)) })
}

/** Starts all programs of a release, and resolves when they serve. */
export async function startFleet(release: Release, place: Place, runnerId: string): Promise<Fleet> {
  const platform = { DATABASE_URL: place.platformUrl, SECRET_KEY_BASE: SECRET }
  const version = { PLATFORM_VERSION: '1.0.0' }
  const start = (service: string, env: Readonly<Record<string, string>>) =>
    startProgram(release, service, { env, place })
  const collector = await start('collector', { ...collectorEnv(place), METRICS_PORT: '0' })
  const traces = { COLLECTOR_URL: collector.url, COLLECTOR_JWT_SECRET: COLLECTOR_SECRET }
  const [web, worker, own] = await Promise.all([
    start('web', { ...platform, ...version, PLATFORM_BASE_URL: 'http://127.0.0.1:3000' }),
    start('worker', { ...platform, ...version, ...traces, WORKER_CONCURRENCY: '20' }),
    start('crew', {
      CREW_DEFINITION: JSON.stringify(UNUSED),
      CREW_TOKEN: crewToken(SECRET, runnerId),
      OPENAI_BASE_URL: place.modelUrl,
      CREW_DRAIN_SECONDS: '60',
    }),
  ])
  return { release, web, worker, collector, crew: own }
}

/** Runs bring their own. */
const UNUSED = {
  name: 'Runner',
  llm: { model: 'counting' },
  agents: [{ key: 'agent', role: 'Agent', goal: 'Answer' }],
  tasks: [{ key: 'only', description: 'Answer.', expected_output: 'An answer', agent: 'agent' }],
}

interface Starting {
  readonly env: Readonly<Record<string, string>>
  readonly place: Place
}

async function startProgram(
  release: Release,
  service: string,
  { env, place }: Starting,
): Promise<Running> {
  const port = await freePort()
  const child = spawn(process.execPath, [mainOf(release, service)], {
    env: environment({ PORT: String(port), ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      const lines = text.toString().trim().split('\n')
      // What is said to those who ask whether it is up, while the machine is busy.
      const told = lines.filter((line) => !line.includes('"route":"/health"'))
      place.complaints.push(...told.map((line) => `${release.name} ${service}: ${line}`))
    })
  }
  const url = `http://127.0.0.1:${port}`
  await untilHealthy(child, url)
  return { url, port, stop: () => end(child), kill: () => void child.kill('SIGKILL') }
}

async function untilHealthy(child: ChildProcess, url: string): Promise<void> {
  const giveUpAt = Date.now() + HEALTH_MS
  while (Date.now() < giveUpAt && child.exitCode === null) {
    if ((await fetch(`${url}/health`).catch(() => undefined))?.ok) return
    await delay(50)
  }
  throw new Error(`${url} did not come up; exit code ${child.exitCode}`)
}

async function end(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return child.exitCode
}

/** Ends the programs of a release as Kubernetes would; returns their exit codes. */
export async function stopFleet(fleet: Fleet): Promise<(number | null)[]> {
  const { web, worker, collector, crew } = fleet
  // The worker first, whose last spans go to the collector and whose runs are on the crew.
  const codes = await Promise.all([web.stop(), worker.stop()])
  return [...codes, ...(await Promise.all([collector.stop(), crew.stop()]))]
}
