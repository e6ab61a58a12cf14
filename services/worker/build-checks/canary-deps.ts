import type { Kubernetes } from '../../shared/kubernetes/client.ts'
import type { CrewPlace } from '../deployments/kubernetes/cluster-calls.ts'
import type { CrewCluster, ImageBuilder } from '../deployments/kubernetes/cluster-settings.ts'

/** The surroundings of a canary. */
export interface CanaryDeps {
  readonly kubernetes: Kubernetes
  readonly cluster: CrewCluster
  readonly builder: ImageBuilder
  /** The namespace and the organization of the platform's own crews. */
  readonly place: CrewPlace
  readonly organizationId: number
  /** How long a node may fail to pull the image, and how often it is asked. */
  readonly patience: { readonly stuckMs: number; readonly pollMs: number }
  readonly log: (text: string) => void
  readonly signal: AbortSignal
}
