import { readOnly } from '../../../../platform/diagnostics.ts'
import { measureQueue } from '../../../../platform/runs/queue-size.ts'
import type { CheckContext } from '../../check.ts'
import { declareCodes } from '../../failure-code.ts'
import { warning } from '../../finding.ts'
import type { Layer } from '../../layer.ts'
import { orAbort } from '../../or-abort.ts'

const PATIENCE_SECONDS = 300

/** The code of runs that nobody takes. */
export const QUEUE_WARNINGS = declareCodes({
  queue_stalled:
    'Look at the workers: `kubectl -n {namespace} get deployment {fullname}-worker` and their ' +
    'log. Where they are well and busy, raise worker.replicaCount or worker.concurrency.',
})

/** The runs that wait. */
export interface QueueDetails {
  readonly queue: {
    readonly due: number
    readonly running: number
    readonly held_back: number
    readonly oldest_seconds: number
  }
}

/** Measures the runs that wait for a worker. Fails never: the tables have a check of their own. */
export async function checkQueue({ signal, sql }: CheckContext): Promise<Layer<QueueDetails>> {
  if (signal.aborted) return { passed: [], failures: [], details: {} }
  try {
    const size = await orAbort(signal, readOnly(sql, measureQueue))
    const waited = Math.round(size.startableSeconds)
    const queue = {
      due: size.due,
      running: size.running,
      held_back: size.heldBack,
      oldest_seconds: Math.round(size.oldestSeconds),
    }
    const message = `a run has been waiting for a worker for ${waited} s`
    const stalled =
      waited > PATIENCE_SECONDS ? [warning(QUEUE_WARNINGS.queue_stalled, message)] : []
    return { passed: [], failures: [], details: { queue }, warnings: stalled }
  } catch {
    return { passed: [], failures: [], details: {} }
  }
}
