import { putBackCase, takeCases } from '../../platform/evaluations/evaluation-queue.ts'
import { closeEvaluations } from '../../platform/evaluations/scores.ts'
import { listen } from '../../shared/postgres/listen.ts'
import { startLoop } from '../run/loop.ts'
import type { AloneDeps } from './perform-alone.ts'
import { performCase } from './perform-case.ts'

/** The cases that a worker performs at a time, beside the runs of its queue. */
const CONCURRENCY = 2

/** Performs the cases of evaluations for as long as there are some, in a lane of their own. */
export function startEvaluations(deps: AloneDeps) {
  const { sql, log } = deps
  const loop = startLoop({
    async take(limit) {
      const taken = await takeCases(sql, limit)
      // Such as those whose last worker was lost before it could end them.
      if (taken.length === 0) await closeEvaluations(sql)
      return taken
    },
    run: (taken, signals) => performCase(deps, taken, signals),
    putBack: (taken) => putBackCase(sql, taken),
    concurrency: CONCURRENCY,
    log,
  })
  const { wake } = loop
  const stopListening = listen(sql, { channel: 'evaluation_queued', hear: wake, onOpen: wake, log })
  return {
    wake,
    async stop(drainMs: number): Promise<void> {
      stopListening()
      await loop.stop(drainMs)
    },
  }
}
