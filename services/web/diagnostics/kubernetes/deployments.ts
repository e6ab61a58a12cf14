import { access, constants } from 'node:fs/promises'
import * as v from 'valibot'
import { createKubernetes } from '../../../shared/kubernetes/client.ts'
import type {
  Kubernetes,
  KubernetesAddress,
  KubernetesFailure,
} from '../../../shared/kubernetes/client.ts'
import { kubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import type { KubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import { toError } from '../../../shared/errors.ts'
import { declareCodes } from '../failure-code.ts'
import { failed } from '../finding.ts'
import type { Failure } from '../finding.ts'

const PAGES_MAX = 10
const PAGE_SIZE = 500

const page = v.object({
  metadata: v.optional(v.object({ continue: v.optional(v.string()) }), {}),
  items: v.array(kubernetesDeployment),
})

/** The codes of a cluster that does not let its Deployments be read. */
export const CLUSTER_CODES = declareCodes({
  rbac_forbidden:
    'Let the service account of web get and list apps/v1 Deployments in that namespace: set ' +
    'rbac.create to true, or create the Role and its binding.',
  no_service_account_token:
    'The pod has no service account token. Set automountServiceAccountToken to true on the web ' +
    'pods.',
  k8s_api_unreachable:
    'Check that web may reach the Kubernetes API: egress policy, certificate authority, load of ' +
    'the API server. After HTTP 401 restart the pod, which gives it a new token.',
})

/** The reason why Deployments could not be read. */
export interface Refusal {
  /** Returns the failure of a component that needed them. */
  readonly toFinding: () => Failure<ForbiddenDetails>
}

/** The right that the service account of web lacks. */
interface ForbiddenDetails {
  readonly forbidden: Wanted & { readonly resource: string }
}

/** Deployments that were read, or why they could not be. */
export type Read<Found> = { readonly found: Found } | { readonly refusal: Refusal }

/** Reads Deployments of one cluster. */
interface DeploymentsApi {
  /** Finds a Deployment; `found` is undefined if there is none of that name. */
  get(namespace: string, name: string): Promise<Read<KubernetesDeployment | undefined>>
  /** Lists at most 5,000 Deployments. */
  list(namespace: string, labelSelector: string): Promise<Read<readonly KubernetesDeployment[]>>
}

/** Opens the Deployments of a cluster; whatever keeps them from being read comes as a `refusal`. */
export function openDeployments(address: KubernetesAddress, signal: AbortSignal): DeploymentsApi {
  const api = createKubernetes(address)
  const call = async (path: string, what: Wanted): Promise<Answer> => {
    const noToken = await tokenProblem(address)
    if (noToken) return { refusal: noToken }
    return toAnswer(await api({ method: 'GET', path, signal }), { what, signal })
  }
  const pathOf = (namespace: string): string =>
    `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments`

  return {
    async get(namespace, name) {
      const path = `${pathOf(namespace)}/${encodeURIComponent(name)}`
      const answer = await call(path, { verb: 'get', namespace })
      if ('refusal' in answer) return answer
      return answer.object === undefined
        ? { found: undefined }
        : parse(kubernetesDeployment, answer.object)
    },
    async list(namespace, labelSelector) {
      const found: KubernetesDeployment[] = []
      let next: string | undefined
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const query = new URLSearchParams({ labelSelector, limit: String(PAGE_SIZE) })
        if (next) query.set('continue', next)
        const path = `${pathOf(namespace)}?${query.toString()}`
        const answer = await call(path, { verb: 'list', namespace })
        if ('refusal' in answer) return answer
        const read = parse(page, answer.object)
        if ('refusal' in read) return read
        found.push(...read.found.items)
        next = read.found.metadata.continue
        if (!next) break
      }
      return { found }
    },
  }
}

/** The verbs on Deployments that the service account of web needs. */
export const VERBS = ['get', 'list'] as const

interface Wanted {
  readonly verb: (typeof VERBS)[number]
  readonly namespace: string
}

type Answer = { readonly object: unknown } | { readonly refusal: Refusal }

async function tokenProblem({ tokenFile }: KubernetesAddress): Promise<Refusal | undefined> {
  try {
    await access(tokenFile, constants.R_OK)
    return undefined
  } catch (thrown) {
    const error = `no service account token: ${toError(thrown).message}`
    return { toFinding: () => failed(CLUSTER_CODES.no_service_account_token, error) }
  }
}

function toAnswer(
  result: Awaited<ReturnType<Kubernetes>>,
  { what, signal }: { what: Wanted; signal: AbortSignal },
): Answer {
  if ('object' in result) return result
  const { failure } = result
  if (what.verb === 'get' && failure.reason === 'NotFound') return { object: undefined }
  if (failure.status === 403) return { refusal: forbidden(failure, what) }
  const error = signal.aborted
    ? 'TimeoutError: the Kubernetes API did not answer in time'
    : outageOf(failure)
  return unreachable(error)
}

function outageOf({ status, reason, message }: KubernetesFailure): string {
  return status === 0
    ? `ConnectionFailed: ${message}`
    : `HTTP ${status} from the Kubernetes API: ${reason} ${message}`.trimEnd()
}

function forbidden({ message }: KubernetesFailure, { verb, namespace }: Wanted): Refusal {
  const error =
    `the service account cannot ${verb} Deployments in the namespace ${namespace}: ` + message
  const details = { forbidden: { verb, resource: 'deployments.apps', namespace } }
  return { toFinding: () => failed(CLUSTER_CODES.rbac_forbidden, error, { details }) }
}

const unreachable = (error: string): { readonly refusal: Refusal } => ({
  refusal: { toFinding: () => failed(CLUSTER_CODES.k8s_api_unreachable, error) },
})

function parse<Schema extends v.BaseSchema<unknown, unknown, v.BaseIssue<unknown>>>(
  schema: Schema,
  object: unknown,
): Read<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, object)
  if (result.success) return { found: result.output }
  const error = 'HTTP 200 from the Kubernetes API without Deployments in it'
  return unreachable(error)
}
