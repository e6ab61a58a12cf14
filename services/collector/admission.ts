import { readFileSync } from 'node:fs'

/** Bytes that one request holds of the budget. */
export interface Lease {
  /** Holds `bytes` from now on, instead of what it held; false, and no change, when they are not to be had. */
  resize(bytes: number): boolean
  release(): void
}

export interface Admission {
  readonly capacity: number
  used(): number
  /** A lease of `bytes`; undefined when they are not to be had. */
  admit(bytes: number): Lease | undefined
}

/** The budget of bytes that all requests in memory share: bodies being read, and rows until they are committed. */
export function createAdmission(capacity: number): Admission {
  let used = 0
  const admit = (bytes: number): Lease | undefined => {
    let held = 0
    const resize = (wanted: number): boolean => {
      if (used - held + wanted > capacity && wanted > held) return false
      used += wanted - held
      held = wanted
      return true
    }
    return resize(bytes) ? { resize, release: () => void resize(0) } : undefined
  }
  return { capacity, used: () => used, admit }
}

const SHARE_OF_LIMIT = 0.4
/** Without a limit of its own the process shares the machine. */
const WITHOUT_LIMIT = 256 << 20
/** cgroup v1 writes "no limit" as a number near 2^63. */
const NO_LIMIT = 2 ** 50

/** The default budget: 40 % of the container's memory limit, which leaves room for the rest of the process. */
export function defaultCapacity(cgroupRoot = '/sys/fs/cgroup'): number {
  const limit = memoryLimit(cgroupRoot)
  return limit === undefined ? WITHOUT_LIMIT : Math.floor(limit * SHARE_OF_LIMIT)
}

/** Bytes, from cgroup v2 or v1; undefined when there is no limit. */
function memoryLimit(root: string): number | undefined {
  const text = readText(`${root}/memory.max`) ?? readText(`${root}/memory/memory.limit_in_bytes`)
  const limit = Number(text)
  return Number.isFinite(limit) && limit > 0 && limit < NO_LIMIT ? limit : undefined
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
