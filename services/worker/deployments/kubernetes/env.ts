import * as v from 'valibot'
import { crewReachEnv, names } from '../../../platform/crews/crew-limits.ts'
import { flag, httpUrl, optional, origins, text } from '../../../shared/env.ts'
import { oneOf } from '../../../shared/schemas.ts'

/** The variables of crews from source in a cluster; without `CREW_PYTHON_IMAGE` there are none. */
export const clusterCrewsEnv = {
  /** The namespace of the crews, or the beginning of its name (SPEC 7). */
  K8S_NAMESPACE: optional(text()),
  /** The namespace and the release of the platform; only its workers reach the crews. */
  POD_NAMESPACE: optional(text()),
  RELEASE_NAME: optional(text()),
  /** An image with uv and Python, in which crews are installed and run. */
  CREW_PYTHON_IMAGE: optional(text()),
  CREW_PULL_POLICY: v.optional(oneOf(['IfNotPresent', 'Always', 'Never']), 'IfNotPresent'),
  /** Secrets where the crews are, with which nodes pull that image. */
  CREW_PULL_CREDENTIALS: v.optional(names(), ''),
  /** The address of web for pods of the cluster: the source, and the tools index. */
  CREW_WEB_URL: optional(httpUrl()),
  /** The address of the collector for pods of the cluster. */
  CREW_COLLECTOR_URL: optional(httpUrl()),
  /** The most that one pod of a crew may be given, as quantities of Kubernetes. */
  CREW_CPU_MAX: v.optional(text(), '2'),
  CREW_MEMORY_MAX: v.optional(text(), '4Gi'),
  /** Gives each crew a NetworkPolicy. */
  CREW_NETWORK_POLICY: v.optional(flag(), 'true'),
  ...crewReachEnv,
  /** Private origins that organizations may call for models; crews reach them as well. */
  LLM_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** The namespaces of models and tools inside the cluster, which every crew reaches. */
  CREW_OPEN_NAMESPACES: v.optional(names(), ''),
  /** An image with BuildKit's client; without it no images are built. */
  BUILDKIT_IMAGE: optional(text()),
  /** `tcp://` with host and port. */
  BUILDKIT_ADDRESS: optional(text()),
  /** A folder with `ca.pem`, `client-cert.pem` and `client-key.pem`. */
  BUILDKIT_CERTIFICATES: optional(text()),
  /** The ids of organizations that share BuildKit because they trust each other; `*`: all. */
  BUILDKIT_ORGANIZATIONS: v.optional(names(), ''),
  /** The registry of crew images as BuildKit reaches it, and as nodes do. */
  REGISTRY_ADDRESS: optional(text()),
  /** Without it nodes pull from `localhost` and the node port of the Service. */
  REGISTRY_PULL_ADDRESS: optional(text()),
  REGISTRY_SERVICE: optional(text()),
  /** The key from which the credentials of organizations derive. */
  REGISTRY_KEY: optional(text(32)),
  /** A file with certificate authorities of the operator's own, which crews trust as well. */
  CREW_CA_FILE: optional(text()),
  /** The cluster assigns users and groups to pods, as OpenShift does. */
  CREW_ARBITRARY_USER: v.optional(flag(), 'false'),
}
