import { AppError } from '../../shared/errors.ts'
import { remove } from '../../shared/kubernetes/apply.ts'
import type { Kubernetes } from '../../shared/kubernetes/client.ts'
import type { Log } from '../../shared/log.ts'

interface Former {
  readonly kubernetes: Kubernetes
  readonly appId: string
  /** The namespace that the crew left. */
  readonly namespace: string
  readonly log: Log
}

/**
 * Removes a crew from a namespace that it left; where that is not allowed, logs how to do it
 * and how.
 */
export async function removeFormerCrew({
  kubernetes,
  appId,
  namespace,
  log,
}: Former): Promise<void> {
  try {
    for (const kind of ['Deployment', 'Service', 'Secret'] as const) {
      await remove(kubernetes, { kind, name: appId, namespace })
    }
    log.info({ namespace }, 'the crew is gone from the namespace that it left')
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    const command = `kubectl -n ${namespace} delete deployment,service,secret ${appId}`
    log.warn({ namespace, reason: thrown.message }, `the crew left pods behind; run: ${command}`)
  }
}
