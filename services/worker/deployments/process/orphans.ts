import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'
import { listLeftovers, RECORD } from './crew-directories.ts'
import { killGroup, killProcess } from './run-program.ts'

const PS_MS = 5000

const record = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(2)),
  started: v.string(),
})

/** Writes down which process runs a crew, for whoever comes after this one was killed. */
export async function recordProcess(file: string, pid: number): Promise<void> {
  const started = await startOf(pid)
  if (started !== undefined) await writeFile(file, JSON.stringify({ pid, started }))
}

/** One that forks meanwhile is found by the next look. */
const LOOKS_MAX = 5

/**
 * Ends all processes that were given folders below this one, also those that have left their group
 * or lost their parent. Where the system does not tell the environment of processes, it ends none.
 */
export async function endProcessesBelow(folder: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const found = await findProcessesBelow(folder)
    for (const pid of found) killProcess(pid)
    if (found.length === 0) return
  }
}

async function findProcessesBelow(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const marked = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return environment.includes(`=${folder}/`)
    }),
  )
  return pids.filter((_, index) => marked[index]).map(Number)
}

/**
 * Ends the processes that were recorded below a folder and go on although nobody looks after them,
 * and deletes what they had. Another process that has got the same number by now is left alone.
 * Returns how many were ended.
 */
export async function endOrphans(root: string): Promise<number> {
  let ended = 0
  for (const folder of await listLeftovers(root)) {
    if (await endOrphan(join(folder, RECORD))) ended += 1
    await endProcessesBelow(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return ended
}

async function endOrphan(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return false
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), record), text)
  const isAlive = parsed.success && (await startOf(parsed.output.pid)) === parsed.output.started
  if (isAlive) killGroup(parsed.output.pid)
  return isAlive
}

/** When a process started, in whatever words the system has for it; undefined: there is none. */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name of the program, in parentheses, may hold anything. The 22nd field is the time.
  if (stat !== undefined) return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  const asked = promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)], { timeout: PS_MS })
  return asked.then(
    ({ stdout }) => stdout.trim() || undefined,
    () => undefined,
  )
}
