import { createBell } from '../../shared/bell.ts'
import type { RunText } from '../../platform/runs/run-texts.ts'
import type { TextWatch } from './text-watch.ts'

/** The parts that wait for a slow reader; the oldest are left out, and offsets tell that. */
const WAITING_MAX = 200

/** The texts of a run, for one who reads them in turn. */
export interface TextQueue {
  /** Takes all parts that came since the last time. */
  take(): readonly RunText[]
  /** Resolves when there is one, after the time, or at an abort. */
  arrival(timeoutMs: number, signal: AbortSignal): Promise<void>
  /** Has to be called in the end. */
  leave(): void
}

/** Follows what the models of a run write. */
export function queueTexts(watch: TextWatch, runId: string): TextQueue {
  const bell = createBell()
  let waiting: RunText[] = []
  const leave = watch.follow(runId, (text) => {
    waiting.push(text)
    if (waiting.length > WAITING_MAX) waiting.shift()
    bell.ring()
  })
  return {
    take() {
      const taken = waiting
      waiting = []
      return taken
    },
    arrival: (timeoutMs, signal) => bell.wait(timeoutMs, signal),
    leave,
  }
}

/**
 * Writes a part as a server-sent event. It has no id: a client that connects again goes on after
 * the last event that is kept.
 */
export const toTextMessage = ({ run: _run, ...text }: RunText): string =>
  `data: ${JSON.stringify({ type: 'text_delta', ...text })}\n\n`
