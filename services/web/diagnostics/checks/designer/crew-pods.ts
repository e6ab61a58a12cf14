import { crewNamespaceOf } from '../../../../platform/crews/crew-namespace.ts'
import type { InternalOrganization } from '../../../../platform/crews/internal-crews.ts'
import type { KubernetesAddress } from '../../../../shared/kubernetes/client.ts'
import type { KubernetesDeployment } from '../../../../shared/kubernetes/deployment.ts'
import { toSelector } from '../../../../shared/kubernetes/pod.ts'
import { INSTALL_CREWS, ISOLATION_RIGHTS, remedyForDeployments } from '../../cluster-commands.ts'
import { declareCodes } from '../../failure-code.ts'
import { isSettled, readyReplicas, toRow } from '../../kubernetes/deployment-row.ts'
import type { DeploymentRow } from '../../kubernetes/deployment-row.ts'
import { openDeployments } from '../../kubernetes/deployments.ts'
import type { Read } from '../../kubernetes/deployments.ts'
import { listPods, troublesOf } from '../../kubernetes/pods.ts'
import type { Layer, LayerFailure } from '../../layer.ts'

/** The code of crews that are online by their records and have no ready pod. */
export const CREW_POD_CODES = declareCodes({
  crew_pods_unready:
    'Scale up a Deployment that is scaled to zero, and look at one that is not ready with ' +
    `kubectl describe. One that is missing is restored as follows. ${INSTALL_CREWS}.`,
})

/** One crew whose Deployment was looked at (SPEC 2.4). */
export interface CrewPodRow {
  readonly slug: string
  readonly app_id: string
  readonly namespace: string
  readonly healthy: boolean
  readonly message?: string
}

/** The pods behind the crews of the internal organization (SPEC 2.4). */
export interface CrewPodDetails {
  readonly crew_pods_status: 'ok' | 'fail' | 'skipped'
  readonly crew_pods: {
    readonly namespaces: readonly string[]
    readonly deployment_count: number
    readonly ready_count: number
    readonly deployments: readonly CrewPodRow[]
  }
}

/** The surroundings of `checkCrewPods`. */
interface CrewPods {
  readonly kubernetes: KubernetesAddress | undefined
  readonly crewNamespace: string | undefined
  readonly organization: InternalOrganization
  /** The present value of the flag `k8s_namespace_isolation`. */
  readonly isolated: boolean
  readonly signal: AbortSignal
}

interface Crew {
  readonly slug: string
  readonly appId: string
  readonly read: Read<KubernetesDeployment | undefined>
  /**
   * With the cluster's reason why its pods are not ready or a new version does not come up; none
   * where its Deployment cannot be read.
   */
  readonly row?: DeploymentRow
}

/** Checks that each crew with the status online has a Deployment with a ready pod. */
export async function checkCrewPods(pods: CrewPods): Promise<Layer<CrewPodDetails>> {
  const { kubernetes, crewNamespace, organization, isolated, signal } = pods
  const online = organization.deployments.filter(({ status }) => status === 'Crew is Online')
  if (!kubernetes || !crewNamespace || online.length === 0) {
    return { passed: [], failures: [], details: { crew_pods_status: 'skipped' } }
  }
  const namespace = crewNamespaceOf(crewNamespace, { organizationId: organization.id, isolated })
  const api = openDeployments(kubernetes, signal)
  const crews = await Promise.all(
    online.map(async ({ slug, appId }): Promise<Crew> => {
      const read = await api.get(namespace, appId)
      if ('refusal' in read) return { slug, appId, read }
      const troubles = read.found
        ? await explain(kubernetes, { namespace, signal, found: read.found })
        : []
      return { slug, appId, read, row: toRow(appId, read.found, troubles) }
    }),
  )
  const failures = [...refusals(crews, isolated), ...unready(crews, namespace)]
  const crew_pods = describeCrews(crews, namespace)
  return failures.length > 0
    ? { passed: [], failures, details: { crew_pods_status: 'fail', crew_pods } }
    : { passed: ['crew_pods_ready'], failures, details: { crew_pods_status: 'ok', crew_pods } }
}

async function explain(
  kubernetes: KubernetesAddress,
  { found, ...where }: { namespace: string; signal: AbortSignal; found: KubernetesDeployment },
): Promise<readonly string[]> {
  const labelSelector = toSelector(found.spec.selector.matchLabels)
  if (isSettled(found) || labelSelector === '') return []
  return troublesOf(found, await listPods(kubernetes, { ...where, labelSelector }))
}

/** One failure for however many crews: what keeps one from being read keeps all. */
function refusals(crews: readonly Crew[], isolated: boolean): readonly LayerFailure[] {
  const [first] = crews.flatMap(({ read }) => ('refusal' in read ? [read.refusal.toFinding()] : []))
  if (!first) return []
  const { error, details } = first
  const isRight = isolated && details.code === 'rbac_forbidden'
  return [{ cause: isRight ? { ...details, remediation: ISOLATION_RIGHTS } : details, error }]
}

function unready(crews: readonly Crew[], namespace: string): readonly LayerFailure[] {
  const down = crews.flatMap(({ slug, read, row }) =>
    row && !isHealthy(read) ? [{ slug, row }] : [],
  )
  if (down.length === 0) return []
  const names = down.map(({ slug, row: { name, condition, message } }) => {
    const state = condition === 'missing' ? ['missing'] : ['zero Ready pods', message]
    return `${slug} (Deployment ${name}: ${state.filter(Boolean).join(', ')})`
  })
  const error =
    `crew(s) without Ready pods: ${names.join(', ')}; ` + `expected in namespace ${namespace}`
  const remediation = remedyForDeployments({
    namespace,
    rows: down.map(({ row }) => row),
    code: 'crew_pods_unready',
    install:
      `${INSTALL_CREWS}. ` + 'That also moves them after k8s_namespace_isolation was switched.',
  })
  return [{ cause: { ...CREW_POD_CODES.crew_pods_unready, remediation }, error }]
}

const isHealthy = (read: Crew['read']): boolean =>
  'found' in read && read.found !== undefined && readyReplicas(read.found) > 0

function describeCrews(crews: readonly Crew[], namespace: string): CrewPodDetails['crew_pods'] {
  return {
    namespaces: [namespace],
    deployment_count: crews.length,
    ready_count: crews.filter(({ read }) => isHealthy(read)).length,
    deployments: crews.map(({ slug, appId, read, row }) => ({
      slug,
      app_id: appId,
      namespace,
      healthy: isHealthy(read),
      ...(row?.message && row.condition !== 'missing' ? { message: row.message } : {}),
    })),
  }
}
