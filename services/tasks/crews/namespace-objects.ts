import { AppError } from '../../shared/errors.ts'
import {
  inNamespace,
  outsidePeers,
  platformPods,
  TO_NAMES,
} from '../../shared/kubernetes/network-peers.ts'
import { ownLabels } from '../../shared/kubernetes/objects.ts'
import type { KubernetesObject } from '../../shared/kubernetes/objects.ts'
import type { ClusterCrewConfig } from '../env.ts'
import { findMountedFile } from '../../shared/kubernetes/mounted-files.ts'

const PULL_SECRET = 'crew-image-pull'
const PULL_KEY = '.dockerconfigjson'
/** The NetworkPolicy of all crews in a namespace. */
export const NETWORK_POLICY = 'crew-network'
/** The objects and settings that the crews of a namespace have in common. */
export interface NamespaceSetup {
  readonly objects: readonly KubernetesObject[]
  /** The pull secret of the crews, which is among the objects or was there before. */
  readonly imagePullSecret?: string | undefined
}

/** Returns the objects that a namespace needs before its crews. */
export async function describeNamespace(
  config: ClusterCrewConfig,
  namespace: string,
): Promise<NamespaceSetup> {
  const { CREW_IMAGE_PULL_FILE: path, CREW_IMAGE_PULL_SECRET, POD_NAMESPACE } = config
  const labels = ownLabels(POD_NAMESPACE)
  const policy = config.CREW_NETWORK_POLICY ? [networkPolicy({ namespace, labels }, config)] : []
  const credentials = path && (await findMountedFile('CREW_IMAGE_PULL_FILE', path))
  if (!credentials) return { objects: policy, imagePullSecret: CREW_IMAGE_PULL_SECRET }
  const secret: KubernetesObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: PULL_SECRET, namespace, labels },
    type: 'kubernetes.io/dockerconfigjson',
    data: { [PULL_KEY]: Buffer.from(credentials).toString('base64') },
  }
  return { objects: [...policy, secret], imagePullSecret: PULL_SECRET }
}

/**
 * Workers and web reach the crews, and nobody else does. Crews reach names, the tools index, and
 * models and tools wherever those are, but no metadata service of a cloud; and where the operator
 * says so, no other private address.
 */
function networkPolicy(
  metadata: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
  config: ClusterCrewConfig,
): KubernetesObject {
  const { POD_NAMESPACE, RELEASE_NAME, CREW_PRIVATE_RANGES = true } = config
  if (POD_NAMESPACE === undefined || RELEASE_NAME === undefined) {
    throw new AppError(
      'invalid_configuration',
      'CREW_NETWORK_POLICY is true: set POD_NAMESPACE and RELEASE_NAME, ' +
        'so that the workers may reach the crews.',
    )
  }
  const platform = { namespace: POD_NAMESPACE, release: RELEASE_NAME }
  const [web, worker] = [platformPods(platform, 'web'), platformPods(platform, 'worker')]
  const http = [{ protocol: 'TCP', port: 'http' }]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: NETWORK_POLICY, ...metadata },
    spec: {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'crew' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [worker, web], ports: http }],
      egress: [
        TO_NAMES,
        { to: [web], ports: http },
        {
          to: [...outsidePeers(CREW_PRIVATE_RANGES), ...inside(config)],
          ports: [{ protocol: 'TCP' }],
        },
      ],
    },
  }
}

/** The pods of models and tools. */
function inside({ CREW_MODEL_NAMESPACE: models, CREW_TOOL_NAMESPACE: tools }: ClusterCrewConfig) {
  const isOpen = models === undefined && tools === undefined
  const named = [models, tools].filter((each) => each !== undefined)
  return isOpen ? [inNamespace(undefined)] : [...new Set(named)].map(inNamespace)
}
