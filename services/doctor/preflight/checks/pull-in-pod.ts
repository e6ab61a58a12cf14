import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { podsPath, podList, troubleOfPod, describeTrouble } from '../../../shared/kubernetes/pod.ts'
import type { Cluster } from '../../kubernetes/cluster.ts'
import type { PreflightContext } from '../context.ts'
import { failed, passed } from '../result.ts'
import type { Result } from '../result.ts'
import { unreachable } from './cluster.ts'

const POLL_MS = 1000
const LABEL = 'platform/doctor-pull'

/**
 * Has a short-lived pod pull an image, as a node of the cluster does, and removes it again. The
 * namespace must exist.
 */
export async function pullInPod(context: PreflightContext, image: string): Promise<Result> {
  const cluster = await context.cluster()
  const id = randomBytes(4).toString('hex')
  const path = `/api/v1/namespaces/${encodeURIComponent(cluster.namespace)}/pods`
  const made = await cluster.call({ method: 'POST', path, body: podOf(context, { image, id }) })
  if ('failure' in made) {
    const { status, message } = made.failure
    if (status !== 404 && status !== 403) return unreachable(made.failure)
    return failed('image_pull_failed', `no pod could be made: ${message}`)
  }
  try {
    return await watch(context, { cluster, id, image })
  } finally {
    await cluster.call({
      method: 'DELETE',
      path: `${path}/platform-doctor-${id}?gracePeriodSeconds=0`,
    })
  }
}

interface Pulling {
  readonly cluster: Cluster
  readonly id: string
  readonly image: string
}

async function watch(
  { surroundings, signal }: PreflightContext,
  { cluster: { call, namespace }, id, image }: Pulling,
): Promise<Result> {
  const path = podsPath({ namespace, labelSelector: `${LABEL}=${id}`, limit: 1 })
  let last = 'the pod was not started'
  while (!signal.aborted) {
    const result = await call({ method: 'GET', path, signal })
    const parsed = v.safeParse(podList, 'object' in result ? result.object : undefined)
    const [pod] = parsed.success ? parsed.output.items : []
    // It has run, or it runs: so the image was there.
    if (pod && /Running|Succeeded|Failed/.test(pod.status.phase)) {
      return passed(['images_found', 'image_pulled_by_node'], { image })
    }
    const trouble = pod && troubleOfPod(pod)
    if (trouble) last = describeTrouble(trouble)
    if (trouble && /ImagePull|InvalidImageName/.test(trouble.reason)) break
    await surroundings.sleep(POLL_MS)
  }
  return failed('image_pull_failed', `${image}: ${last}`)
}

/** A pod that passes Pod Security "restricted" and does nothing. */
function podOf(
  { pullSecret }: PreflightContext,
  { image, id }: { image: string; id: string },
): object {
  const name = `platform-doctor-${id}`
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { [LABEL]: id } },
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: 600,
      automountServiceAccountToken: false,
      ...(pullSecret ? { imagePullSecrets: [{ name: pullSecret }] } : {}),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'pull',
          image,
          imagePullPolicy: 'Always',
          command: ['node', '--version'],
          resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '64Mi' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  }
}
