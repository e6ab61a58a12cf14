import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuOfFamily, memoryOfFamily } from '../support/processes.ts'
import { median } from '../support/statistics.ts'

const ROUNDS = 3
const PORT_BASE = 43_100
/** Until the first runs of the samples have ended, and nothing but waiting is left. */
const IDLE_MS = 5000
const BUNDLES = 'node_modules/.cache/bundles/services'

/** What a start took, in seconds and MiB. */
export interface Start {
  readonly name: string
  readonly wall: number
  readonly cpu: number
  readonly nodeMib: number
  readonly postgresMib: number
}

/**
 * Starts the platform without anything that an earlier start has kept, on new data, and on data
 * that it has. Each is the median of three.
 */
export async function timeStarts(): Promise<readonly Start[]> {
  const parent = await mkdtemp(join(tmpdir(), 'bench-pace-'))
  const taken = new Map<string, Start[]>()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const [cache, data, other] = ['cache', 'data', 'other'].map((name) =>
        join(parent, `${name}-${round}`),
      )
      await removeBundle()
      for (const [name, directory] of [
        ['nothing kept', data],
        ['new data', other],
        ['warm', other],
      ] as const) {
        const start = await startOnce({ name, directory: directory ?? '', cache: cache ?? '' })
        taken.set(name, [...(taken.get(name) ?? []), start])
      }
    }
  } finally {
    await rm(parent, { recursive: true, force: true })
  }
  return [...taken].map(([name, starts]) => mediansOf(name, starts))
}

/** That of the platform alone: the others are not measured. */
async function removeBundle(): Promise<void> {
  const names = await readdir(BUNDLES).catch(() => [])
  for (const name of names) {
    if (name.startsWith('local.cjs')) await rm(join(BUNDLES, name))
  }
}

interface Given {
  readonly name: string
  readonly directory: string
  readonly cache: string
}

async function startOnce({ name, directory, cache }: Given): Promise<Start> {
  const options = ['--data', directory, '--port-base', String(PORT_BASE), '--json']
  const began = performance.now()
  const platform = spawn(process.execPath, ['services/run.mjs', 'services/local.ts', ...options], {
    env: { ...process.env, XDG_CACHE_HOME: cache },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(platform, 'exit')
  try {
    const lines = createInterface(platform.stdout)
    const ready = await Promise.race([once(lines, 'line'), exited.then(() => undefined)])
    if (!ready) throw new Error(`npm start ended; is a port from ${PORT_BASE} upwards in use?`)
    const wall = (performance.now() - began) / 1000
    const cpu = cpuOfFamily(platform.pid ?? 0)
    await delay(IDLE_MS)
    const memory = memoryOfFamily(platform.pid ?? 0)
    const [nodeMib, postgresMib] = [memory.get('node') ?? 0, memory.get('postgres') ?? 0]
    return { name, wall, cpu, nodeMib, postgresMib }
  } finally {
    platform.kill('SIGINT')
    await exited
  }
}

function mediansOf(name: string, starts: readonly Start[]): Start {
  const of = (key: Exclude<keyof Start, 'name'>): number => median(starts.map((one) => one[key]))
  return {
    name,
    wall: of('wall'),
    cpu: of('cpu'),
    nodeMib: of('nodeMib'),
    postgresMib: of('postgresMib'),
  }
}
