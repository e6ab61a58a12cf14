import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { describeTrouble, troubleOfPod } from '../../../shared/kubernetes/pod.ts'
import type { KubernetesPod } from '../../../shared/kubernetes/pod.ts'
import type { CrewProgress } from '../crew-host.ts'
import { buildJob, buildSecret, UNREACHABLE_EXITS } from './build-job.ts'
import type { BuildOrder } from './build-job.ts'
import { applyAll, findObject, listPods, removeEach } from './cluster-calls.ts'
import type { CrewPlace } from './cluster-calls.ts'
import { buildNetworkPolicy } from './crew-network.ts'
import { followOutput, lastLines } from './pod-output.ts'

const DIGEST = /^sha256:[0-9a-f]{64}$/
const POLL_MS = 2000

type BuildOutcome =
  | { readonly digest: string }
  | { readonly reason: string; readonly lastLines: string }

/** A part that a build needs; `cluster`: its pod did not start, or did not end in time. */
export type BuildPart = keyof typeof UNREACHABLE_EXITS | 'cluster'

/** A build that could not be tried, and for want of what. */
interface UntriedBuild {
  readonly unreachable: string
  readonly part: BuildPart
}

interface Building {
  readonly kubernetes: Kubernetes
  readonly order: BuildOrder
  readonly place: CrewPlace
  readonly progress: Pick<CrewProgress, 'log'>
  readonly signal: AbortSignal
}

/**
 * Makes the image of a crew, or goes on with the Job that is there. Raises `unavailable` when what
 * it needs cannot be reached.
 */
export async function buildImage(building: Building): Promise<BuildOutcome> {
  const outcome = await tryBuild(building)
  if ('unreachable' in outcome) throw new AppError('unavailable', outcome.unreachable)
  return outcome
}

/** Makes an image with a Job, or goes on with the one that is there. It goes when it has ended. */
export async function tryBuild(building: Building): Promise<BuildOutcome | UntriedBuild> {
  const { kubernetes, order, place } = building
  const { names, cluster } = order
  const target = { kind: 'Job', name: names.build, namespace: names.namespace } as const
  if ((await findObject(kubernetes, target)) === undefined) {
    await applyAll(kubernetes, objectsOf(order), { ...place, home: cluster.home.namespace })
  }
  const outcome = await followBuild(building)
  await removeEach(kubernetes, { ...place, name: names.build }, ['Job', 'Secret', 'NetworkPolicy'])
  return outcome
}

function objectsOf(order: BuildOrder): readonly KubernetesObject[] {
  const { names, cluster } = order
  const policy = cluster.isGuarded ? [buildNetworkPolicy(names, cluster)] : []
  return [...policy, buildSecret(order), buildJob(order)]
}

async function followBuild(building: Building): Promise<BuildOutcome | UntriedBuild> {
  const { kubernetes, order, progress, signal } = building
  const { namespace, buildSelector: selector, build } = order.names
  const about = { kubernetes, namespace, selector, container: 'build' }
  const output = followOutput({ ...about, write: (text) => progress.log('build', text) })
  const giveUpAt = performance.now() + order.seconds * 1000
  while (performance.now() < giveUpAt) {
    // First: a Job that is done by then has printed all that it ever prints.
    const ended = endOf(await findObject(kubernetes, { kind: 'Job', name: build, namespace }))
    await output.pump()
    const [pod] = await listPods(kubernetes, namespace, selector)
    if (ended) return settle(building, pod)
    const trouble = pod && troubleOfPod(pod)
    if (trouble) return notStarted(`The build does not start: ${describeTrouble(trouble)}`)
    await sleep(POLL_MS, undefined, { signal })
  }
  return notStarted(`The build did not end within ${order.seconds} s.`)
}

const notStarted = (unreachable: string): UntriedBuild => ({ unreachable, part: 'cluster' })

const job = v.object({
  status: v.optional(
    v.object({
      conditions: v.optional(v.array(v.object({ type: v.string(), status: v.string() })), []),
    }),
    {},
  ),
})

/** A Job that somebody deleted has ended too. */
function endOf(object: unknown): boolean {
  if (object === undefined) return true
  return v
    .parse(job, object)
    .status.conditions.some(
      ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
    )
}

async function settle(
  { kubernetes, order }: Building,
  pod: KubernetesPod | undefined,
): Promise<BuildOutcome | UntriedBuild> {
  const { terminated } = pod?.status.containerStatuses[0]?.state ?? {}
  const { exitCode, message = '', reason = '' } = terminated ?? {}
  const digest = message.trim()
  if (exitCode === 0 && DIGEST.test(digest)) return { digest }
  const { namespace, buildSelector: selector } = order.names
  const said = await lastLines(kubernetes, { namespace, selector })
  const part = exitCode === undefined ? 'cluster' : partOf(exitCode)
  if (part) return { unreachable: `The image cannot be built now. ${said}`.trim(), part }
  return {
    reason:
      reason === 'OOMKilled'
        ? 'The build took more memory than it may have.'
        : 'The image could not be built. The last lines say why.',
    lastLines: said,
  }
}

function partOf(code: number): BuildPart | undefined {
  if (code === UNREACHABLE_EXITS.web) return 'web'
  if (code === UNREACHABLE_EXITS.buildkit) return 'buildkit'
  return code === UNREACHABLE_EXITS.registry ? 'registry' : undefined
}
