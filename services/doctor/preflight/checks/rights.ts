import * as v from 'valibot'
import type { Cluster } from '../../kubernetes/cluster.ts'
import type { PreflightContext } from '../context.ts'
import { failed, passed } from '../result.ts'
import type { Result } from '../result.ts'
import { unreachable } from './cluster.ts'

/** The objects that an installation makes in its namespace, by their API group. */
export const INSTALLED: Readonly<Record<string, readonly string[]>> = {
  '': ['configmaps', 'persistentvolumeclaims', 'secrets', 'serviceaccounts', 'services'],
  apps: ['deployments', 'statefulsets'],
  batch: ['jobs'],
  'networking.k8s.io': ['networkpolicies'],
  'rbac.authorization.k8s.io': ['rolebindings', 'roles'],
}
/** Helm asks, makes, changes and removes. */
const VERBS = ['get', 'create', 'patch', 'delete']
const CONCURRENT = 8

interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** None for what is in no namespace. */
  readonly namespace?: string
}

const review = v.object({ status: v.object({ allowed: v.optional(v.boolean(), false) }) })

/** Whoever installs may make what the chart makes (`kubectl auth can-i`). */
export async function checkRights(context: PreflightContext): Promise<Result> {
  const cluster = await context.cluster()
  const { namespace } = cluster
  const wanted: Right[] = Object.entries(INSTALLED).flatMap(([group, resources]) =>
    resources.flatMap((resource) => VERBS.map((verb) => ({ verb, group, resource, namespace }))),
  )
  // That of the crews is always made.
  const rights: Right[] = [...wanted, { verb: 'create', group: '', resource: 'namespaces' }]
  const missing: Right[] = []
  for (let start = 0; start < rights.length; start += CONCURRENT) {
    const some = rights.slice(start, start + CONCURRENT)
    const answers = await Promise.all(some.map((right) => isAllowed(cluster, right)))
    for (const [index, answer] of answers.entries()) {
      if (typeof answer !== 'boolean') return answer
      const right = some[index]
      if (!answer && right) missing.push(right)
    }
  }
  if (missing.length === 0) return passed(['rights_to_install'], { namespace })
  const details = {
    namespace,
    missing: missing.map(
      ({ verb, group, resource }) => `${verb} ${resource}${group === '' ? '' : `.${group}`}`,
    ),
  }
  const error = `missing rights in the namespace ${namespace}: ${details.missing.join(', ')}`
  return failed('rights_missing', error, { details })
}

/** Asks the cluster whether the login has a right; a failure where it does not say. */
export async function isAllowed({ call }: Cluster, right: Right): Promise<boolean | Result> {
  const result = await call({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: right },
    },
  })
  if ('failure' in result) return unreachable(result.failure)
  const parsed = v.safeParse(review, result.object)
  return parsed.success && parsed.output.status.allowed
}
