import type { EnvSource } from '../../shared/env.ts'
import type { KubernetesAddress } from '../../shared/kubernetes/client.ts'
import type { ProviderUrls } from './check.ts'
import type { CHECKS } from './checks/list.ts'
import type { Diagnosis } from './diagnoses.ts'
import type { Limits } from './run-checks.ts'

/** The dependencies of the diagnoses beside the configuration; each has a default. */
export interface DiagnosticsDeps {
  /** The variables of this pod: its credentials for LLM providers, and what no report may show. */
  readonly env?: EnvSource
  /** Absent outside Kubernetes. */
  readonly kubernetes?: KubernetesAddress | undefined
  readonly limits?: Limits
  /** What is checked of each component. */
  readonly checks?: typeof CHECKS
  readonly providerUrls?: ProviderUrls
  /** The number of the last migration that this program has. */
  readonly schemaVersion?: number | undefined
  readonly onDiagnosis?: (diagnosis: Diagnosis) => void
}
