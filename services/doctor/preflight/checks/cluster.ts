import * as v from 'valibot'
import type { KubernetesFailure } from '../../../shared/kubernetes/client.ts'
import { failed, passed } from '../result.ts'
import type { Result } from '../result.ts'
import type { PreflightContext } from '../context.ts'

/** As the chart's `kubeVersion`. */
const MINOR_MIN = 30

const version = v.object({ major: v.string(), minor: v.string(), gitVersion: v.string() })

/** The API server answers, and has a version that the chart takes. */
export async function checkCluster({ cluster }: PreflightContext): Promise<Result> {
  const { call, name } = await cluster()
  const result = await call({ method: 'GET', path: '/version' })
  if ('failure' in result) return unreachable(result.failure)
  const parsed = v.safeParse(version, result.object)
  if (!parsed.success) return failed('cluster_unreachable', 'what answers is no API server')
  const { major, minor, gitVersion } = parsed.output
  const details = { cluster: name, version: gitVersion }
  // Some clouds write `30+`.
  if (Number(major) === 1 && Number.parseInt(minor, 10) < MINOR_MIN) {
    const error = `Kubernetes ${gitVersion} is older than 1.${MINOR_MIN}`
    return failed('cluster_too_old', error, { details })
  }
  return passed(['api_server_reached', 'version_supported'], details)
}

/** The failure of a call that any check of the cluster may make. */
export function unreachable({ status, message }: KubernetesFailure): Result {
  const error =
    status === 0 ? `ConnectionFailed: ${message}` : `HTTP ${status} from the API server: ${message}`
  return failed('cluster_unreachable', error)
}
