import type { EnvSource } from '../../shared/env.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import type { Surroundings } from '../wait.ts'
import type { Installation } from './installation.ts'

/** What the checks before an installation work with. */
export interface PreflightContext {
  readonly installation: Installation
  /** Opens the cluster, once for all checks. Raises `invalid_request` where there is none. */
  readonly cluster: () => Promise<Cluster>
  readonly env: EnvSource
  /** Addresses that the platform has to reach. */
  readonly egress: readonly string[]
  /** True lets a pod pull the image. */
  readonly isPulling: boolean
  /** The Secret to pull with. */
  readonly pullSecret: string | undefined
  readonly surroundings: Surroundings
  readonly timeoutMs: number
  /** Aborts when the check's time is over. */
  readonly signal: AbortSignal
}
