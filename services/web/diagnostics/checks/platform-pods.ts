import { html } from 'hono/html'
import { fixSentence } from '../../../shared/fixable-codes.ts'
import type { KubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import { plural } from '../../console/frame/format.ts'
import type { Check } from '../check.ts'
import { INSTALL_CHART, remedyForDeployments } from '../cluster-commands.ts'
import { declareCodes } from '../failure-code.ts'
import { failed, passed, skipped, warning, withWarnings } from '../finding.ts'
import type { Finding, Warning } from '../finding.ts'
import { isSettled, isWell, toRow } from '../kubernetes/deployment-row.ts'
import type { DeploymentRow } from '../kubernetes/deployment-row.ts'
import { CLUSTER_CODES, openDeployments } from '../kubernetes/deployments.ts'
import { listPods, troublesOf } from '../kubernetes/pods.ts'
import { BUILD_WARNINGS, buildFacts, readBuilds } from './platform-pods/builds.ts'
import type { BuildDetails } from './platform-pods/builds.ts'
import { deploymentsTable } from './platform-pods/deployments-table.ts'
import type { PlatformPodsDetails } from './platform-pods/deployments-table.ts'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { KubernetesAddress } from '../../../shared/kubernetes/client.ts'
import type { WebConfig } from '../../env.ts'

const COMPONENT_LABEL = 'app.kubernetes.io/component'

const failures = declareCodes({
  deployments_unready:
    'Scale up a Deployment that is scaled to zero, look at one that is not ready with kubectl ' +
    'describe, and run the check again when a rollout is over. A missing one is restored as ' +
    `follows. ${INSTALL_CHART}`,
})

const REMEDY = { install: INSTALL_CHART, code: 'deployments_unready' } as const

const ROLLOUT_WARNINGS = declareCodes({
  rollout_stuck:
    'The events of its pods say why. ' +
    '`helm rollback {release} -n {namespace}` returns to the version before.',
})

const warnings = { ...ROLLOUT_WARNINGS, ...BUILD_WARNINGS }

type Details = PlatformPodsDetails & BuildDetails

/**
 * Every long-lived Deployment of the chart has readyReplicas equal to spec.replicas (SPEC 2.3).
 * What keeps BuildKit and the registry from being of use is a warning.
 */
export const platformPodsCheck: Check<Details> = {
  weight: 'optional',
  title: 'Platform pods',
  skipped: 'This pod does not run in Kubernetes',
  failures: { ...failures, ...CLUSTER_CODES },
  warnings,
  timeout: CLUSTER_CODES.k8s_api_unreachable,
  page: {
    facts: ({ deployments = [], ...details }) => [
      ...(deployments.length > 0 ? [html`<li>${countReady(deployments)}</li>`] : []),
      ...buildFacts(details),
    ],
    section: deploymentsTable,
  },

  async run(context, { config, kubernetes }) {
    if (!kubernetes) return skipped()
    const { signal } = context
    const hasBuilds = config.PLATFORM_DEPLOYMENTS?.includes('buildkit')
    const builds = hasBuilds ? await readBuilds(context) : undefined
    const { RELEASE_NAME: release, RELEASE_FULLNAME: fullName = release } = config
    const namespace = config.POD_NAMESPACE ?? (await readNamespace(kubernetes))
    const labelSelector = release
      ? `app.kubernetes.io/instance=${release}`
      : 'app.kubernetes.io/part-of=platform'
    const read = await openDeployments(kubernetes, signal).list(namespace, labelSelector)
    if ('refusal' in read) return read.refusal.toFinding()
    const expected = expectedDeployments(config).map((component) => ({
      name: fullName ? `${fullName}-${component}` : component,
      found: findComponent(read.found, { component, fullName }),
    }))
    const isQuiet = expected.every(({ found }) => found && isSettled(found))
    const pods = isQuiet ? [] : await listPods(kubernetes, { namespace, labelSelector, signal })
    const rows = expected.map(({ name, found }) =>
      toRow(name, found, found && troublesOf(found, pods)),
    )
    return withBuilds(toFinding(namespace, rows), builds)
  },
}

function withBuilds(
  { details, ...finding }: Finding<Details>,
  builds: Awaited<ReturnType<typeof readBuilds>> | undefined,
): Finding<Details> {
  const all = [...(details?.warnings ?? []), ...(builds?.warnings ?? [])]
  return { ...finding, details: withWarnings({ ...details, ...builds?.details }, all) }
}

function toFinding(
  namespace: string,
  rows: readonly DeploymentRow[],
): Finding<PlatformPodsDetails> {
  const stuck = rows.filter(({ condition }) => condition === 'stuck')
  const warnings = stuck.map((row) => warnOfRollout(namespace, row))
  const details = withWarnings({ namespace, deployments: rows }, warnings)
  const down = rows.filter((row) => !isWell(row))
  if (down.length === 0) return passed({ details })
  const remediation = remedyForDeployments({ ...REMEDY, namespace, rows: down })
  const surging = down.filter(({ condition }) => condition === 'surging')
  const fewer = down.filter((row) => !surging.includes(row))
  const errors = [countError('fewer', fewer), countError('more', surging)].filter(Boolean)
  const cause = { ...failures.deployments_unready, remediation }
  return failed(cause, errors.join('; '), { details })
}

const countError = (word: 'fewer' | 'more', rows: readonly DeploymentRow[]): string =>
  rows.length > 0 ? `${word} Ready replicas than desired: ${rows.map(describeRow).join(', ')}` : ''

const warnOfRollout = (namespace: string, row: DeploymentRow): Warning =>
  warning(
    {
      ...ROLLOUT_WARNINGS.rollout_stuck,
      remediation:
        remedyForDeployments({ ...REMEDY, namespace, rows: [row] }) + fixSentence('rollout_stuck'),
    },
    `the rollout of ${row.name} is stuck: ${row.message.replace(/\.$/, '')}`,
  )

function describeRow({ name, condition, ready_replicas, desired_replicas }: DeploymentRow): string {
  const counts = `${ready_replicas}/${desired_replicas}`
  if (condition === 'missing') return `${name} (missing)`
  return condition === 'scaled_to_zero'
    ? `${name} (${counts}, scaled to zero)`
    : `${name} (${counts})`
}

function countReady(rows: readonly DeploymentRow[]): string {
  const ready = rows.filter(({ condition }) => condition === 'ready').length
  return `${ready} of ${plural(rows.length, 'Deployment')} ready`
}

function findComponent(
  all: readonly KubernetesDeployment[],
  { component, fullName }: { component: string; fullName: string | undefined },
): KubernetesDeployment | undefined {
  return fullName
    ? all.find(({ metadata }) => metadata.name === `${fullName}-${component}`)
    : all.find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === component)
}

/** Returns the namespace of this pod, from the file beside its token; `default` without one. */
async function readNamespace({ tokenFile }: KubernetesAddress): Promise<string> {
  const text = await readFile(join(dirname(tokenFile), 'namespace'), 'utf8').catch(() => 'default')
  return text.trim() || 'default'
}

/** Every long-lived Deployment of the chart, by component (SPEC 2.3). */
export const CHART_DEPLOYMENTS = [
  'web',
  'worker',
  'oauth',
  'buildkit',
  'collector',
  'internal-registry',
] as const

type Config = Pick<
  WebConfig,
  'PLATFORM_DEPLOYMENTS' | 'PLATFORM_OAUTH_API_BASE_URL' | 'COLLECTOR_URL'
>

/**
 * Lists the Deployments of this installation: those that the chart names, or else all but the
 * services that are not configured.
 */
export function expectedDeployments(config: Config): readonly string[] {
  if (config.PLATFORM_DEPLOYMENTS) return config.PLATFORM_DEPLOYMENTS
  return CHART_DEPLOYMENTS.filter((component) => {
    if (component === 'oauth') return config.PLATFORM_OAUTH_API_BASE_URL !== undefined
    if (component === 'collector') return config.COLLECTOR_URL !== undefined
    return true
  })
}
