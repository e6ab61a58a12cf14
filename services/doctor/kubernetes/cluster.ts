import { delimiter, join } from 'node:path'
import type { EnvSource } from '../../shared/env.ts'
import { createKubernetes, inClusterAddress } from '../../shared/kubernetes/client.ts'
import type { Kubernetes } from '../../shared/kubernetes/client.ts'
import { readKubeconfig } from './kubeconfig.ts'

const NAMESPACE = 'platform'

/** Which cluster and which installation are meant. */
export interface ClusterOptions {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly namespace: string | undefined
}

/** A cluster, and the namespace of the installation. */
export interface Cluster {
  /** `the context prod`, or `this cluster`. */
  readonly name: string
  readonly call: Kubernetes
  readonly namespace: string
}

/**
 * Opens the cluster of a kubeconfig, or that of this pod. Raises `invalid_request` where there is
 * neither.
 */
export async function openCluster(options: ClusterOptions, env: EnvSource): Promise<Cluster> {
  const { kubeconfig, context, namespace } = options
  const own = inClusterAddress(env)
  if (own && kubeconfig === undefined && context === undefined) {
    const inside = namespace ?? env['POD_NAMESPACE'] ?? NAMESPACE
    return { name: 'this cluster', call: createKubernetes(own), namespace: inside }
  }
  const paths = (kubeconfig ?? env['KUBECONFIG'] ?? join(env['HOME'] ?? '.', '.kube', 'config'))
    .split(delimiter)
    .filter(Boolean)
  const found = await readKubeconfig({ paths, contextName: context, env })
  return {
    name: `the context ${found.name}`,
    call: createKubernetes(found.login),
    namespace: namespace ?? NAMESPACE,
  }
}

/** The options of the command line that name a cluster. */
export const CLUSTER_OPTIONS = {
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
} as const
