import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { isPassing, pathOf, refusal } from './apply.ts'
import type { Kubernetes } from './client.ts'
import { kubernetesDeployment } from './deployment.ts'
import type { KubernetesDeployment } from './deployment.ts'
import type { Labels } from './objects.ts'
import { findTrouble, SCALED_TO_ZERO } from './pod-trouble.ts'
import { describeTrouble, podList, podsPath, toSelector } from './pod.ts'
import type { Trouble } from './pod.ts'

const PODS_MAX = 50

/** The bounds of waiting for a Deployment. */
export interface Patience {
  /** The deadline of the whole roll-out. */
  readonly timeoutMs: number
  /** The time after which a trouble that stays the same ends the wait; at once without pods. */
  readonly stuckMs: number
  readonly pollMs: number
}

interface Followed {
  readonly kubernetes: Kubernetes
  /** Of the Deployment. */
  readonly name: string
  readonly namespace: string
  /** Of its pods. */
  readonly labels: Labels
  readonly patience: Patience
  /** Called when what is waited for changes. */
  readonly onWait: (reason: string) => Promise<void>
  /** Aborts the wait. */
  readonly signal?: AbortSignal
}

/** The end of waiting for a Deployment. */
export type Rollout =
  | { readonly online: true }
  | {
      readonly online: false
      readonly reason: string
      /** What the cluster says of a pod, where it says more than that it is not ready. */
      readonly trouble?: Trouble | undefined
      /** Pods of the version before still answer. */
      readonly isServing: boolean
    }

/**
 * Waits for the pods of a Deployment, within a bound. Raises `forbidden` when they cannot be looked
 * at.
 */
export async function followRollout(followed: Followed): Promise<Rollout> {
  const { timeoutMs, stuckMs, pollMs } = followed.patience
  const started = performance.now()
  let troubledSince: number | undefined
  let reported = ''
  for (;;) {
    const look = await lookAt(followed)
    if (look.isReady) return { online: true }
    const now = performance.now()
    const { key, reason, isServing, trouble } = look
    if (key !== reported) await followed.onWait(reason)
    reported = key
    // Trouble comes in turns: a pull that failed, the wait before the next, a container that runs
    // until it crashes again.
    if (trouble) troubledSince ??= now
    const isStuck = trouble !== undefined && now - (troubledSince ?? now) >= stuckMs
    if (isStuck || trouble?.reason === SCALED_TO_ZERO)
      return { online: false, reason, trouble, isServing }
    if (now - started >= timeoutMs) {
      const seconds = Math.round(timeoutMs / 1000)
      return { online: false, reason: `${reason} (after ${seconds} s)`, trouble, isServing }
    }
    await sleep(pollMs, undefined, signalOf(followed))
  }
}

interface Look {
  readonly isReady: boolean
  readonly isServing: boolean
  /** It will not recover by itself. */
  readonly trouble?: Trouble | undefined
  /** The state that is waited for, in one word. */
  readonly key: string
  readonly reason: string
}

async function lookAt(followed: Followed): Promise<Look> {
  const { kubernetes, name, namespace } = followed
  const target = { kind: 'Deployment', name, namespace } as const
  const result = await kubernetes({ method: 'GET', path: pathOf(target) })
  if ('failure' in result) {
    if (!isPassing(result.failure)) throw refusal(result.failure, { ...target, verbs: 'get' })
    const reason = `the Kubernetes API does not answer: ${result.failure.message}`
    return { isReady: false, isServing: false, key: 'api', reason }
  }
  const deployment = v.parse(kubernetesDeployment, result.object)
  const isServing = deployment.status.readyReplicas > 0
  const trouble = findTrouble(deployment, await listPods(followed))
  return {
    isReady: isReady(deployment),
    isServing,
    trouble,
    key: trouble?.reason ?? 'start',
    reason: describe(trouble),
  }
}

/** The pods of this very version are there, and all of those before are gone. */
function isReady({ metadata, spec, status }: KubernetesDeployment): boolean {
  const { replicas: desired } = spec
  const isCurrent = status.observedGeneration >= metadata.generation
  const counts = [status.updatedReplicas, status.readyReplicas, status.replicas]
  return isCurrent && desired > 0 && counts.every((count) => count === desired)
}

const signalOf = ({ signal }: Followed) => (signal ? { signal } : {})

const describe = (trouble: Trouble | undefined): string =>
  trouble === undefined ? 'its pod is not ready yet' : describeTrouble(trouble)

async function listPods({ kubernetes, name, namespace, labels }: Followed) {
  const labelSelector = toSelector(labels)
  const path = podsPath({ namespace, labelSelector, limit: PODS_MAX })
  const result = await kubernetes({ method: 'GET', path })
  if ('object' in result) return v.parse(podList, result.object).items
  if (isPassing(result.failure)) return []
  throw refusal(result.failure, { kind: 'pods of', name, namespace, verbs: 'list' })
}
