import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { CrewPlace } from './cluster-calls.ts'
import type { CrewCluster } from './cluster-settings.ts'
import type { CrewGifts } from './describe-crew.ts'

/** The surroundings of crews in a cluster. */
export interface ClusterDeps {
  readonly kubernetes: Kubernetes
  readonly cluster: CrewCluster
  readonly gifts: CrewGifts
  readonly placeOf: (organizationId: number) => Promise<CrewPlace>
  /** The patience with which pods are waited for. */
  readonly patience: { readonly stuckMs: number; readonly pollMs: number }
}
