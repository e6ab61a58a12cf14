import type * as v from 'valibot'
import { reachRulesOf } from '../../../platform/crews/crew-reach.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import { readMountedFile } from '../../../shared/kubernetes/mounted-files.ts'
import { proxyVariables } from '../../../shared/outgoing/forward-proxy.ts'
import type { ProxyConfig } from '../../../shared/outgoing/forward-proxy.ts'
import type { workerEnv } from '../../env.ts'
import type { CrewCluster } from './cluster-settings.ts'
import type { clusterCrewsEnv } from './env.ts'
import { openBuilder } from './open-builder.ts'

/** The variables that say how crews from source run in a cluster. */
type ClusterConfig = ProxyConfig &
  Pick<v.InferOutput<typeof workerEnv>, keyof typeof clusterCrewsEnv>

/** A cluster with crews from source, and where these are. */
export interface OpenCluster {
  readonly cluster: CrewCluster
  /** The namespace of the crews, or the beginning of its name. */
  readonly baseNamespace: string
}

/**
 * Reads what the operator set for crews from source; undefined where they are off. Raises
 * `invalid_configuration` when a variable is missing that goes with the others.
 */
export function openCluster(
  config: ClusterConfig,
  kubernetes: Kubernetes,
): OpenCluster | undefined {
  const { CREW_PYTHON_IMAGE: pythonImage, K8S_NAMESPACE, CREW_WEB_URL } = config
  if (pythonImage === undefined) return undefined
  const { POD_NAMESPACE: namespace, RELEASE_NAME: release, CREW_CA_FILE } = config
  if (!K8S_NAMESPACE || !CREW_WEB_URL || !namespace || !release) {
    throw new AppError(
      'invalid_configuration',
      'CREW_PYTHON_IMAGE is set: crews from source also need K8S_NAMESPACE, POD_NAMESPACE, ' +
        'RELEASE_NAME and CREW_WEB_URL. Set them, or none.',
    )
  }
  const cluster: CrewCluster = {
    home: { namespace, release },
    pythonImage,
    pullPolicy: config.CREW_PULL_POLICY,
    pullSecrets: config.CREW_PULL_CREDENTIALS,
    hasArbitraryUser: config.CREW_ARBITRARY_USER,
    isGuarded: config.CREW_NETWORK_POLICY,
    reach: reachRulesOf(config),
    modelOrigins: config.LLM_PRIVATE_ORIGINS,
    openNamespaces: config.CREW_OPEN_NAMESPACES,
    webUrl: CREW_WEB_URL.replace(/\/$/, ''),
    maxima: { cpu: config.CREW_CPU_MAX, memory: config.CREW_MEMORY_MAX },
    proxy: proxyVariables(config),
    caBundle: CREW_CA_FILE ? () => readMountedFile('CREW_CA_FILE', CREW_CA_FILE) : undefined,
    builder: openBuilder(config, kubernetes),
  }
  return { cluster, baseNamespace: K8S_NAMESPACE }
}
