import { setTimeout as sleep } from 'node:timers/promises'
import { RESTRICTED_CONTAINER, restrictedPod } from '../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../shared/kubernetes/objects.ts'
import { describeTrouble, troubleOfPod } from '../../shared/kubernetes/pod.ts'
import { applyAll, listPods } from '../deployments/kubernetes/cluster-calls.ts'
import { pullSecret } from '../deployments/kubernetes/crew-images.ts'
import type { CrewNames } from '../deployments/kubernetes/crew-names.ts'
import type { CrewOwner } from '../deployments/crew-host.ts'
import type { CanaryDeps } from './canary-deps.ts'
import { problem } from './problem.ts'

const PULL_SECONDS = 180

/** An image to pull, and the names of what does it. */
interface Pulling {
  readonly names: CrewNames
  readonly owner: CrewOwner
  /** By its digest, as nodes pull it. */
  readonly image: string
}

/** Has a node pull an image with the credential of crews, and run it. */
export async function pullOnNode(
  { kubernetes, cluster, builder, place, patience, signal }: CanaryDeps,
  { names, owner, image }: Pulling,
): Promise<void> {
  const objects = [pullSecret(builder, { owner, image }, names), pullJob(names, image, cluster)]
  await applyAll(kubernetes, objects, { ...place, home: cluster.home.namespace })
  let last = 'no pod was started'
  let stuckSince: number | undefined
  const giveUpAt = performance.now() + PULL_SECONDS * 1000
  while (performance.now() < giveUpAt) {
    const [pod] = await listPods(kubernetes, names.namespace, names.selector)
    if (pod?.status.phase === 'Succeeded') return
    if (pod?.status.phase === 'Failed') {
      throw problem('build_pull_failed', 'The image was pulled and does not run.')
    }
    const trouble = pod && troubleOfPod(pod)
    if (trouble) last = describeTrouble(trouble)
    // A node may see the pod before it may read the credential: its first pull is refused then.
    stuckSince = trouble ? (stuckSince ?? performance.now()) : undefined
    if (stuckSince !== undefined && performance.now() - stuckSince > patience.stuckMs) break
    await sleep(patience.pollMs, undefined, { signal })
  }
  throw problem('build_pull_failed', `No node has run the image: ${last}`)
}

/** Passes Pod Security "restricted", and ends at once. */
function pullJob(
  { pull, namespace, labels, selector }: CrewNames,
  image: string,
  cluster: CanaryDeps['cluster'],
): KubernetesObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: pull, namespace, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: PULL_SECONDS,
      ttlSecondsAfterFinished: PULL_SECONDS,
      template: {
        metadata: { labels: { ...labels, ...selector } },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          imagePullSecrets: [{ name: pull }],
          securityContext: restrictedPod(cluster),
          containers: [
            {
              name: 'pull',
              image,
              imagePullPolicy: 'Always',
              command: ['cat', '/canary'],
              resources: {
                requests: { cpu: '10m', memory: '16Mi' },
                limits: { cpu: '100m', memory: '64Mi' },
              },
              securityContext: RESTRICTED_CONTAINER,
            },
          ],
        },
      },
    },
  }
}
