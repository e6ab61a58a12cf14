import { AppError } from '../../shared/errors.ts'
import type { ErrorCode } from '../../shared/errors.ts'
import type { Cluster } from '../kubernetes/cluster.ts'
import { isAllowed } from '../preflight/checks/rights.ts'

const READ = { get: 'GET', list: 'GET' } as const
const METHODS = { ...READ, create: 'POST', patch: 'PATCH', delete: 'DELETE' } as const
const CODES: Readonly<Record<number, ErrorCode>> = { 404: 'not_found', 409: 'conflict' }

/** A right on objects of a kind in a namespace. */
interface ObjectRight {
  readonly verb: keyof typeof METHODS
  readonly group: string
  readonly resource: string
  readonly namespace: string
}

interface Order {
  readonly name?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** `patch deployments.apps in the namespace platform` */
export const describeRight = ({ verb, group, resource, namespace }: ObjectRight): string =>
  `${verb} ${resource}.${group} in the namespace ${namespace}`

const lacks = (right: ObjectRight): string =>
  `Your kubeconfig lacks the right to ${describeRight(right)}`

/**
 * Does with the operator's login what a right is for. Raises `not_found`, `conflict`, `forbidden`
 * for any other refusal, and `unavailable` where no answer came.
 */
export async function perform(
  { call }: Cluster,
  right: ObjectRight,
  { name, query, body }: Order,
): Promise<unknown> {
  const { group, resource, namespace, verb } = right
  const kind = `/apis/${group}/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`
  const place = name === undefined ? kind : `${kind}/${encodeURIComponent(name)}`
  // The API server notes by this name who changed a field.
  const search = new URLSearchParams(query ?? (body ? { fieldManager: 'platform-doctor' } : {}))
  const path = `${place}?${search.toString()}`
  const result = await call({ method: METHODS[verb], path, body })
  if ('object' in result) return result.object
  const { status, message } = result.failure
  const lead = status === 403 ? lacks(right) : `The API server did not ${describeRight(right)}`
  const refused = status >= 400 && status < 500 && status !== 429 ? 'forbidden' : 'unavailable'
  throw new AppError(CODES[status] ?? refused, `${lead}: ${message || `HTTP ${status}`}`)
}

/** What a call returns; undefined where its object is not there. */
export const unlessAbsent = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((thrown: unknown) => {
    if (!(thrown instanceof AppError && thrown.code === 'not_found')) throw thrown
  })

/** Raises `forbidden` for a right that the operator lacks, before anything is changed. */
export async function requireRights(cluster: Cluster, ...rights: ObjectRight[]): Promise<void> {
  for (const right of rights) {
    const answer = await isAllowed(cluster, right)
    const { error = '' } = typeof answer === 'boolean' ? { error: `${lacks(right)}.` } : answer
    if (answer !== true) throw new AppError('forbidden', error)
  }
}
