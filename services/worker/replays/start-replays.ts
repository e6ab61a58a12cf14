import { putBackReplay, takeReplays } from '../../platform/replays/replay-queue.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { startLoop } from '../run/loop.ts'
import { performReplay } from './perform-replay.ts'
import type { ReplayDeps } from './perform-replay.ts'

/** The runs that a worker performs again at a time, beside those of its queue. */
const CONCURRENCY = 2

/** Performs runs again for as long as there are some, in a lane of their own. */
export function startReplays(deps: ReplayDeps) {
  const { sql, log } = deps
  const loop = startLoop({
    take: (limit) => takeReplays(sql, limit),
    run: (taken, signals) => performReplay(deps, taken, signals),
    putBack: (taken) => putBackReplay(sql, taken),
    concurrency: CONCURRENCY,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'replay_queued', hear: wake, onOpen: wake, log })
  return {
    wake,
    async stop(drainMs: number): Promise<void> {
      stopListening()
      await loop.stop(drainMs)
    },
  }
}
