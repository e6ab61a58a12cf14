import * as v from 'valibot'
import { kubernetesCondition } from '../../shared/kubernetes-deployment.ts'
import type { KubernetesDeployment } from '../../shared/kubernetes-deployment.ts'

const MESSAGE_CHARACTERS_MAX = 300
/** What a pod may be in and not come out of by itself. `ContainerCreating` and the like are on the way. */
const STUCK =
  /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError|CrashLoopBackOff|CreateContainerConfigError|CreateContainerError|RunContainerError)$/

const terminated = v.object({
  exitCode: v.optional(v.number()),
  reason: v.optional(v.string(), ''),
})

const pod = v.object({
  status: v.optional(
    v.object({
      conditions: v.optional(v.array(kubernetesCondition), []),
      containerStatuses: v.optional(
        v.array(
          v.object({
            state: v.optional(
              v.object({
                waiting: v.optional(
                  v.object({
                    reason: v.optional(v.string(), ''),
                    message: v.optional(v.string(), ''),
                  }),
                ),
              }),
              {},
            ),
            lastState: v.optional(v.object({ terminated: v.optional(terminated) }), {}),
          }),
        ),
        [],
      ),
    }),
    {},
  ),
})

export const podList = v.object({ items: v.array(pod) })

type Pod = v.InferOutput<typeof pod>

/** What keeps a crew from coming up. */
export interface Trouble {
  /** One word, such as `ImagePullBackOff`. */
  readonly reason: string
  readonly message: string
}

/** Why the pods of a Deployment are not ready, if they tell of more than being on the way. */
export function findTrouble(
  { spec, status }: KubernetesDeployment,
  pods: readonly Pod[],
): Trouble | undefined {
  if (spec.replicas === 0)
    return { reason: 'ScaledToZero', message: 'its Deployment has 0 replicas' }
  const told = (type: string, value: string) =>
    status.conditions.find((each) => each.type === type && each.status === value)
  // A quota, or Pod Security: no pod is made at all.
  const refused = told('ReplicaFailure', 'True')
  const late = told('Progressing', 'False')
  return [refused && toTrouble(refused), ...pods.map(troubleOf), late && toTrouble(late)].find(
    (trouble) => trouble !== undefined,
  )
}

function troubleOf({ status }: Pod): Trouble | undefined {
  for (const { state, lastState } of status.containerStatuses) {
    const { reason = '', message = '' } = state.waiting ?? {}
    if (!STUCK.test(reason)) continue
    const { exitCode, reason: why } = lastState.terminated ?? {}
    const ended = exitCode === undefined ? '' : ` (its last run ended with ${exitCode}, ${why})`
    return toTrouble({ reason, message: `${message}${ended}` })
  }
  const unscheduled = status.conditions.find(
    ({ type, status: is }) => type === 'PodScheduled' && is === 'False',
  )
  return unscheduled && toTrouble(unscheduled)
}

/** The cluster's words, cut to a bound. */
function toTrouble({ reason, message }: { reason: string; message: string }): Trouble {
  const clean = (text: string): string => text.replaceAll(/\p{C}+/gu, ' ').trim()
  return { reason: clean(reason), message: clean(message).slice(0, MESSAGE_CHARACTERS_MAX) }
}
