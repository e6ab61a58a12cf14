import { setTimeout as sleep } from 'node:timers/promises'
import { deadline } from './deadline.ts'
import { toError } from './errors.ts'
import type { Log } from './log.ts'

const TURN_MS = 30_000
const TURNS_MAX = 1000

interface Turning {
  /** What is done, for the log: `forwarding of the audit`. */
  readonly name: string
  /** Does a part of what there is to do, and returns how much; 0 when nothing is left. */
  readonly turn: () => Promise<number>
  /** The pause when nothing is left. */
  readonly everyMs: number | (() => number)
  readonly log: Log
}

/** Does what there is to do again and again, with a pause when nothing is left. */
export function keepTurning({ name, turn, everyMs, log }: Turning): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping

  async function turnAll(): Promise<void> {
    for (let turns = 0; turns < TURNS_MAX && !signal.aborted; turns += 1) {
      if ((await deadline({ name, timeoutMs: TURN_MS, signal }, turn)) === 0) return
    }
  }

  async function keepOn(): Promise<void> {
    while (!signal.aborted) {
      await turnAll().catch((thrown: unknown) => {
        const reason = toError(thrown).message
        if (!signal.aborted) log.warn({ reason }, `${name} failed; trying again`)
      })
      const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs()
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  const ended = keepOn()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
