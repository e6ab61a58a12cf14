import { readFileSync } from 'node:fs'
import type { Memory } from '../otlp/memory.ts'

/** The memory that a request will need. */
interface Needs {
  /** Bytes of its body. */
  readonly body: number
  /** Bytes more for as long as the body is turned into rows. */
  readonly workspace: number
}

/** A request that was let in. */
export interface Ticket {
  /** Room for its body. */
  readonly body: Buffer
  /** It is rows now, or has failed: its workspace is no longer held back. */
  done(): void
}

/** Lets a request in, or not: undefined when the memory does not reach. */
export type Admit = (needs: Needs) => Ticket | undefined

/**
 * Of the memory; its rest has room for what the largest body inflates to, and for the rows made of
 * that.
 */
export const SHARE_FOR_BODIES = 0.28

/**
 * Decides before a body is read. Bodies are turned into rows one after the other, so it is enough
 * to hold back the largest workspace of those that were let in: a body that was read is then not
 * discarded for want of it. How much a compressed body needs is only a guess, so bodies have a
 * share of their own: they must not crowd out the work on them.
 */
export function createAdmission(memory: Memory): Admit {
  const inside = new Set<Needs>()
  return (needs) => {
    let bodies = needs.body
    let heldBack = needs.workspace
    for (const { body, workspace } of inside) {
      bodies += body
      heldBack = Math.max(heldBack, workspace)
    }
    const room = memory.capacity - memory.used() - heldBack
    if (needs.body > room || bodies > memory.capacity * SHARE_FOR_BODIES) return undefined
    const body = memory.takeForBody(needs.body)
    if (!body) return undefined
    const one = { ...needs }
    inside.add(one)
    return { body, done: () => void inside.delete(one) }
  }
}

/** The process itself, and what waits for the garbage collector, need about as much again. */
export const SHARE_OF_LIMIT = 0.25
/** Without a limit of its own the process shares the machine. */
const WITHOUT_LIMIT = 256 << 20
/** More would only let a database that stands still go unnoticed for longer. */
export const LARGEST_CAPACITY = 2 ** 31
/** cgroup v1 writes "no limit" as a number near 2^63. */
const NO_LIMIT = 2 ** 50

/** The default size of the memory: 25 % of the container's limit, up to 2 GiB. */
export function defaultCapacity(cgroupRoot = '/sys/fs/cgroup'): number {
  const limit = memoryLimit(cgroupRoot)
  if (limit === undefined) return WITHOUT_LIMIT
  return Math.min(LARGEST_CAPACITY, Math.floor(limit * SHARE_OF_LIMIT))
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
