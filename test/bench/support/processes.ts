import { existsSync, readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100

interface Stat {
  readonly parent: number
  readonly ownSeconds: number
  /** Of children that have ended. */
  readonly endedSeconds: number
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may hold anything.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11)
    return {
      parent,
      ownSeconds: (user + system) / TICKS_PER_SECOND,
      endedSeconds: (endedUser + endedSystem) / TICKS_PER_SECOND,
    }
  } catch {
    return undefined
  }
}

/** The process that has started this one; undefined where there is no `/proc`. */
export const parentOf = (pid: number): number | undefined => readStat(pid)?.parent

/** CPU seconds that a process has used, in steps of 10 ms. NaN where there is no `/proc`. */
export const cpuOf = (pid: number): number => readStat(pid)?.ownSeconds ?? Number.NaN

/** The milliseconds that a process has run on a processor, to the nanosecond; only on Linux. */
export const runMsOf = (pid: number | string): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

/** The same of all threads of a process. */
export const runMsOfThreads = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, thread) => sum + runMsOf(`${pid}/task/${thread}`),
    0,
  )

/** The same of a process and its children, each with one thread. */
export const runMsOfFamily = (pid: number): number =>
  processIds()
    .filter((one) => one === pid || readStat(one)?.parent === pid)
    .reduce((sum, one) => sum + runMsOf(one), 0)

const processIds = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger)

/** How many children a process has. 0 where there is no `/proc`. */
export const countChildren = (pid: number): number =>
  existsSync('/proc') ? processIds().filter((child) => readStat(child)?.parent === pid).length : 0

/** CPU seconds of the children of a process that have ended. NaN where there is no `/proc`. */
export const cpuOfEnded = (pid: number): number => readStat(pid)?.endedSeconds ?? Number.NaN

/** MiB of a process and its descendants, of shared pages each one's part, by program. */
export function memoryOfFamily(pid: number): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const one of descendantsOf(pid)) {
    try {
      const name = readFileSync(`/proc/${one}/comm`, 'utf8').trim()
      const [, kilobytes] =
        /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'utf8')) ?? []
      sums.set(name, (sums.get(name) ?? 0) + Number(kilobytes ?? 0) / 1024)
    } catch {
      // It has just ended, or is not ours to look into.
    }
  }
  return sums
}

/** MiB of a process and its descendants, of shared pages each one's part. */
export const memoryOf = (pid: number): number =>
  [...memoryOfFamily(pid).values()].reduce((sum, each) => sum + each, 0)

function descendantsOf(pid: number): readonly number[] {
  const children = existsSync('/proc')
    ? processIds().filter((one) => readStat(one)?.parent === pid)
    : []
  return [pid, ...children.flatMap(descendantsOf)]
}

/** CPU seconds of a process and its children, those that have ended included. */
export function cpuOfFamily(pid: number): number {
  const own = readStat(pid)
  if (!own) return Number.NaN
  let sum = own.ownSeconds + own.endedSeconds
  for (const child of processIds()) {
    const stat = readStat(child)
    if (stat?.parent === pid) sum += stat.ownSeconds
  }
  return sum
}
