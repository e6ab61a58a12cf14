import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { describeTrouble, troubleOfPod } from '../../../shared/kubernetes/pod.ts'
import type { KubernetesPod } from '../../../shared/kubernetes/pod.ts'
import type { CrewProgress } from '../crew-host.ts'
import { buildJob, BUILD_SECONDS, buildSecret } from './build-job.ts'
import type { Build } from './build-job.ts'
import { applyAll, findObject, listPods, removeEach } from './cluster-calls.ts'
import type { CrewPlace } from './cluster-calls.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import { buildNetworkPolicy } from './crew-network.ts'
import { EXIT_UNREACHABLE } from './install-script.ts'
import { followOutput, lastLines } from './pod-output.ts'

const DIGEST = /^sha256:[0-9a-f]{64}$/
const POLL_MS = 2000

/** The end of a build. */
export type BuildOutcome =
  | { readonly digest: string }
  | { readonly reason: string; readonly lastLines: string }

interface Building {
  readonly kubernetes: Kubernetes
  readonly crew: DescribedCrew
  readonly build: Build
  readonly place: CrewPlace
  readonly progress: CrewProgress
  readonly signal: AbortSignal
}

/**
 * Makes the image of a crew with a Job, or goes on with the one that is there. The Job goes when it
 * has ended. Raises `unavailable` when what it needs cannot be reached.
 */
export async function buildImage(building: Building): Promise<BuildOutcome> {
  const { kubernetes, crew, place } = building
  const { names, cluster } = crew
  const target = { kind: 'Job', name: names.build, namespace: names.namespace } as const
  if ((await findObject(kubernetes, target)) === undefined) {
    await applyAll(kubernetes, objectsOf(building), { ...place, home: cluster.home.namespace })
  }
  const outcome = await followBuild(building)
  await removeEach(kubernetes, { ...place, name: names.build }, ['Job', 'Secret', 'NetworkPolicy'])
  if ('unreachable' in outcome) throw new AppError('unavailable', outcome.unreachable)
  return outcome
}

function objectsOf({ crew, build }: Building): readonly KubernetesObject[] {
  const policy = crew.cluster.isGuarded ? [buildNetworkPolicy(crew.names, crew.cluster)] : []
  return [...policy, buildSecret(crew, build), buildJob(crew, build)]
}

type Ended = BuildOutcome | { readonly unreachable: string }

async function followBuild(building: Building): Promise<Ended> {
  const { kubernetes, crew, progress, signal } = building
  const { namespace, buildSelector: selector, build } = crew.names
  const about = { kubernetes, namespace, selector, container: 'build' }
  const output = followOutput({ ...about, write: (text) => progress.log('build', text) })
  const giveUpAt = performance.now() + BUILD_SECONDS * 1000
  while (performance.now() < giveUpAt) {
    // First: a Job that is done by then has printed all that it ever prints.
    const ended = endOf(await findObject(kubernetes, { kind: 'Job', name: build, namespace }))
    await output.pump()
    const [pod] = await listPods(kubernetes, namespace, selector)
    if (ended) return settle(building, pod)
    const trouble = pod && troubleOfPod(pod)
    if (trouble) return { unreachable: `The build does not start: ${describeTrouble(trouble)}` }
    await sleep(POLL_MS, undefined, { signal })
  }
  return { unreachable: `The build did not end within ${BUILD_SECONDS} s.` }
}

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
  { kubernetes, crew }: Building,
  pod: KubernetesPod | undefined,
): Promise<Ended> {
  const { terminated } = pod?.status.containerStatuses[0]?.state ?? {}
  const { exitCode, message = '', reason = '' } = terminated ?? {}
  const digest = message.trim()
  if (exitCode === 0 && DIGEST.test(digest)) return { digest }
  if (exitCode === undefined || exitCode === EXIT_UNREACHABLE) {
    const { namespace, buildSelector: selector } = crew.names
    const said = await lastLines(kubernetes, { namespace, selector })
    return { unreachable: `The image cannot be built now. ${said}`.trim() }
  }
  const { namespace, buildSelector: selector } = crew.names
  return {
    reason:
      reason === 'OOMKilled'
        ? 'The build took more memory than it may have.'
        : 'The image could not be built. The last lines say why.',
    lastLines: await lastLines(kubernetes, { namespace, selector }),
  }
}
