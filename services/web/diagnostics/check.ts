import type { ReadVariable } from '../../platform/connections/llm-usage.ts'
import type { KubernetesAddress } from '../../shared/kubernetes/client.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { Html } from '../console/frame/parts.ts'
import type { WebConfig } from '../env.ts'
import type { FailureCode, FailureCodes } from './failure-code.ts'
import type { Finding, ShownDetails } from './finding.ts'
import type { IsMounted } from './mounted-routes.ts'

/** The addresses of LLM providers by name, instead of their public ones. */
export type ProviderUrls = Readonly<Record<string, string>>

/** The surroundings of this pod, the same for every diagnosis. */
export interface Surroundings {
  readonly config: WebConfig
  /** The name of this pod. */
  readonly pod: string
  /** Reads a variable of this pod, such as a provider's key. */
  readonly readVariable: ReadVariable
  readonly providerUrls: ProviderUrls
  /** Absent outside Kubernetes. */
  readonly kubernetes: KubernetesAddress | undefined
  readonly isMounted: IsMounted
  /** The migrations that this program has; undefined where it cannot find them. */
  readonly schemaVersion: number | undefined
}

/** The means of one call of a check. */
export interface CheckContext {
  /** Aborts shortly before the hard limit, so that a check can still name what it waited for. */
  readonly signal: AbortSignal
  /** Connections of this diagnosis alone. */
  readonly sql: Database
}

/**
 * One component of the report, complete: verdict, report, page, metrics and the test of the
 * documents read the list of checks and nothing else. `Details` are the members of `details` that
 * the check makes. A check can run out of time at any point, so each of them may be absent.
 */
export interface Check<Details extends object = object> {
  /**
   * The effect of a failure (SPEC 3): `critical` fails the whole report, `optional` degrades it.
   */
  readonly weight: 'critical' | 'optional'
  /** The component's name on the page. */
  readonly title: string
  /** The reason for a skip, on the page. */
  readonly skipped: string
  /** What `checks` can list, each name with its words on the page. */
  readonly passes?: Readonly<Record<string, string>>
  /** The codes of its failures; those of an unavailable database are the same for all checks. */
  readonly failures: FailureCodes
  readonly warnings?: FailureCodes
  /** The code when the check runs out of time. */
  readonly timeout: FailureCode
  readonly page?: PageParts<Details>
  /** Checks the component. What it throws is reported as a failure. */
  run(context: CheckContext, surroundings: Surroundings): Promise<Finding<Details>>
}

/** The parts of the page that belong to one check. */
interface PageParts<Details extends object> {
  /** Items beside the names of what passed, such as the host that was asked. */
  facts?(details: ShownDetails<Details>): readonly Html[]
  /** A list between the error and the remedy of a failure. */
  failure?(details: ShownDetails<Details>): Html | string
  /** A section below all components. */
  section?(details: ShownDetails<Details>): Html | string
}
