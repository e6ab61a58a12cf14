import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
const PERIOD_US = 100_000

interface Limits {
  /** 0.5 is half a core. */
  readonly cores: number
  readonly memoryBytes: number
}

/**
 * Holds a process to what a pod may use, by a control group of its own; returns how to let go of
 * the group once the process has ended, or undefined where groups cannot be made.
 */
export function limitProcess(pid: number, limits: Limits): (() => void) | undefined {
  const made: string[] = []
  const release = (): void => {
    for (const group of made) rmdirSync(group)
  }
  try {
    for (const [group, settings] of groupsOf(`bench-${pid}`, limits)) {
      mkdirSync(group)
      made.push(group)
      for (const [name, value] of settings) writeFileSync(join(group, name), value)
      writeFileSync(join(group, 'cgroup.procs'), String(pid))
    }
    return release
  } catch {
    release()
    return undefined
  }
}

type Group = readonly [path: string, settings: readonly (readonly [string, string])[]]

/** Version 2 has one group for all, version 1 one for each kind of limit. */
function groupsOf(name: string, { cores, memoryBytes }: Limits): Group[] {
  const quota = String(cores * PERIOD_US)
  const memory = String(memoryBytes)
  if (existsSync(`${ROOT}/cgroup.controllers`)) {
    const settings = [
      ['cpu.max', `${quota} ${PERIOD_US}`],
      ['memory.max', memory],
    ] as const
    return [[join(ROOT, name), settings]]
  }
  const cpu = [
    ['cpu.cfs_period_us', String(PERIOD_US)],
    ['cpu.cfs_quota_us', quota],
  ] as const
  return [
    [join(ROOT, 'cpu', name), cpu],
    [join(ROOT, 'memory', name), [['memory.limit_in_bytes', memory]]],
  ]
}
