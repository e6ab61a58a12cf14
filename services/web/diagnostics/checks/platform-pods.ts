import { dirname, join } from 'node:path'
import { readFile } from 'node:fs/promises'
import type { KubernetesAddress } from '../../../shared/kubernetes.ts'
import type { WebConfig } from '../../env.ts'
import { toRow } from '../deployment-rows.ts'
import type { DeploymentRow } from '../deployment-rows.ts'
import { expectedDeployments } from '../expected-deployments.ts'
import { failed, passed, skipped } from '../findings.ts'
import { openDeployments } from '../kubernetes-deployments.ts'
import type { KubernetesDeployment } from '../../../shared/kubernetes-deployment.ts'
import type { Check } from '../run-checks.ts'

const COMPONENT_LABEL = 'app.kubernetes.io/component'

/** Every long-lived Deployment of the chart has as many ready pods as it should. */
export function platformPodsCheck(
  config: WebConfig,
  kubernetes: KubernetesAddress | undefined,
): Check {
  return {
    timeoutCode: 'k8s_api_unreachable',
    async run({ signal }) {
      if (!kubernetes) return skipped()
      const { RELEASE_NAME: release } = config
      const namespace = config.POD_NAMESPACE ?? (await readNamespace(kubernetes))
      const selector = release
        ? `app.kubernetes.io/instance=${release}`
        : 'app.kubernetes.io/part-of=platform'
      const read = await openDeployments(kubernetes, signal).list(namespace, selector)
      if ('refusal' in read) return read.refusal.toFinding()
      const rows = expectedDeployments(config).map((component) => {
        const name = release ? `${release}-${component}` : component
        return toRow(name, findComponent(read.found, { component, release }))
      })
      const details = { namespace, deployments: rows }
      const down = rows.filter(({ condition }) => condition !== 'ready')
      if (down.length === 0) return passed({ details })
      const error = `fewer Ready replicas than desired: ${down.map(describeRow).join(', ')}`
      return failed('deployments_unready', error, { details })
    },
  }
}

function describeRow({ name, condition, ready_replicas, desired_replicas }: DeploymentRow): string {
  const counts = `${ready_replicas}/${desired_replicas}`
  if (condition === 'missing') return `${name} (missing)`
  return condition === 'unready'
    ? `${name} (${counts})`
    : `${name} (${counts}, ${condition.replaceAll('_', ' ')})`
}

function findComponent(
  all: readonly KubernetesDeployment[],
  { component, release }: { component: string; release: string | undefined },
): KubernetesDeployment | undefined {
  return release
    ? all.find(({ metadata }) => metadata.name === `${release}-${component}`)
    : all.find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === component)
}

/** The namespace of this pod, from beside its token. */
async function readNamespace({ tokenFile }: KubernetesAddress): Promise<string> {
  const text = await readFile(join(dirname(tokenFile), 'namespace'), 'utf8').catch(() => 'default')
  return text.trim() || 'default'
}
