import * as v from 'valibot'
import { kubernetesCondition } from './deployment.ts'

const MESSAGE_CHARACTERS_MAX = 300
/** States that a pod does not leave by itself. `ContainerCreating` and the like are on the way. */
const STUCK = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])

const terminated = v.object({
  exitCode: v.optional(v.number()),
  reason: v.optional(v.string(), ''),
  message: v.optional(v.string(), ''),
})

const waiting = v.object({
  reason: v.optional(v.string(), ''),
  message: v.optional(v.string(), ''),
})

const containerStatus = v.object({
  name: v.optional(v.string(), ''),
  image: v.optional(v.string(), ''),
  state: v.optional(
    v.object({ waiting: v.optional(waiting), terminated: v.optional(terminated) }),
    {},
  ),
  lastState: v.optional(v.object({ terminated: v.optional(terminated) }), {}),
})

const containerStatuses = v.optional(v.array(containerStatus), [])

const pod = v.object({
  metadata: v.optional(
    v.object({
      name: v.optional(v.string(), ''),
      labels: v.optional(v.record(v.string(), v.string()), {}),
    }),
    {},
  ),
  status: v.optional(
    v.object({
      phase: v.optional(v.string(), ''),
      conditions: v.optional(v.array(kubernetesCondition), []),
      initContainerStatuses: containerStatuses,
      containerStatuses,
    }),
    {},
  ),
})

/** The fields that are read of a list of pods. */
export const podList = v.object({ items: v.array(pod) })

/** The pods of one namespace that have certain labels. */
export interface PodQuery {
  readonly namespace: string
  readonly labelSelector: string
  readonly limit: number
}

/** Selects what has all of these labels. */
export const toSelector = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map((pair) => pair.join('='))
    .join(',')

/** The path of a list of pods. */
export function podsPath({ namespace, labelSelector, limit }: PodQuery): string {
  const query = new URLSearchParams({ labelSelector, limit: String(limit) })
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods?${query.toString()}`
}

/** A pod as the API server returns it. */
export type KubernetesPod = v.InferOutput<typeof pod>

/** The reason that something in the cluster does not come up. */
export interface Trouble {
  /** One word, such as `ImagePullBackOff`. */
  readonly reason: string
  readonly message: string
}

/** The reason that a pod does not become ready, if it tells of more than being on the way. */
export function troubleOfPod({ status }: KubernetesPod): Trouble | undefined {
  for (const container of [...status.initContainerStatuses, ...status.containerStatuses]) {
    const { reason = '', message = '' } = container.state.waiting ?? {}
    if (!STUCK.has(reason)) continue
    const texts = [message, imageOf(container), lastRunOf(container)]
    return toTrouble({ reason, message: texts.filter(Boolean).join(' ') })
  }
  const unscheduled = status.conditions.find(
    ({ type, status: is }) => type === 'PodScheduled' && is === 'False',
  )
  return unscheduled && toTrouble(unscheduled)
}

type ContainerStatus = v.InferOutput<typeof containerStatus>

/** The image, unless the message has it already. */
const imageOf = ({ image, state }: ContainerStatus): string =>
  image === '' || state.waiting?.message.includes(image) ? '' : `(image ${image})`

function lastRunOf({ lastState }: ContainerStatus): string {
  const { exitCode, reason } = lastState.terminated ?? {}
  return exitCode === undefined ? '' : `(its last run ended with ${exitCode}, ${reason})`
}

/** The cluster's words, cut to a bound. */
export function toTrouble({ reason, message }: { reason: string; message: string }): Trouble {
  const clean = (text: string): string => text.replaceAll(/\p{C}+/gu, ' ').trim()
  return { reason: clean(reason), message: clean(message).slice(0, MESSAGE_CHARACTERS_MAX) }
}

/** A trouble in one line. */
export const describeTrouble = ({ reason, message }: Trouble): string =>
  [reason, message].filter(Boolean).join(': ')
