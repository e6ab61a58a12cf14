import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import { podsPath, podList, troubleOfPod, describeTrouble } from '../../../shared/kubernetes/pod.ts'
import type { Cluster } from '../../kubernetes/cluster.ts'
import type { PreflightContext } from '../context.ts'
import { findManifest, parseImage } from '../registry-client.ts'
import { readRegistryLogin } from '../registry-login.ts'
import { describeOutage, failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'
import { unreachable } from './cluster.ts'

/** The registry has the images, and, where that is asked for, the nodes can pull one. */
export async function checkRegistry(context: PreflightContext): Promise<Result> {
  const { installation, env, signal } = context
  const { images } = installation
  if (images.length === 0) return skipped('no registry is named: pass --values or --image')
  const missing: string[] = []
  for (const text of images) {
    const image = parseImage(text)
    try {
      const login = await readRegistryLogin(image.host, env)
      const status = await findManifest(image, { login, signal })
      if (status === 401 || status === 403) {
        const error = `HTTP ${status} from ${image.host} for ${text}`
        return failed('registry_refused', error, { details: { images } })
      }
      if (status === 404) missing.push(text)
      else if (status !== 200) {
        return failed('registry_unreachable', `HTTP ${status} from ${image.host} for ${text}`)
      }
    } catch (thrown) {
      return failed('registry_unreachable', `${image.host}: ${describeOutage(thrown)}`)
    }
  }
  if (missing.length > 0) {
    const error = `the registry does not have ${missing.join(', ')}`
    return failed('image_missing', error, { details: { images } })
  }
  if (!context.isPulling) return passed(['images_found'], { images })
  return pullInPod(context, images[0] ?? '')
}

const POLL_MS = 1000
const LABEL = 'platform/doctor-pull'

/**
 * Has a short-lived pod pull an image, as a node of the cluster does, and removes it again. The
 * namespace must exist.
 */
async function pullInPod(context: PreflightContext, image: string): Promise<Result> {
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
