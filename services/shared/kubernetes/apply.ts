import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import type { Kubernetes, KubernetesFailure } from './client.ts'
import type { KubernetesObject, ObjectKind } from './objects.ts'

const ATTEMPTS_MAX = 5
const BACKOFF_MS = 200
/** Owns the fields that are applied; what others set on the same object stays theirs. */
const FIELD_MANAGER = 'crew-platform'
const PLURALS = {
  Namespace: 'namespaces',
  Secret: 'secrets',
  Service: 'services',
  Deployment: 'deployments',
  NetworkPolicy: 'networkpolicies',
  Job: 'jobs',
} as const satisfies Readonly<Record<ObjectKind, string>>

const GROUPS: Partial<Record<ObjectKind, string>> = {
  Deployment: '/apis/apps/v1',
  NetworkPolicy: '/apis/networking.k8s.io/v1',
  Job: '/apis/batch/v1',
}

/** An object by its kind, name and namespace. */
export interface Target {
  readonly kind: ObjectKind
  readonly name: string
  /** None for a Namespace. */
  readonly namespace?: string
}

/**
 * Creates an object or brings it to what is given. Raises `forbidden`, `not_found`, `unprocessable`
 * and `unavailable` with what to do.
 */
export async function apply(
  kubernetes: Kubernetes,
  target: Target,
  body: KubernetesObject,
): Promise<unknown> {
  const query = new URLSearchParams({
    fieldManager: FIELD_MANAGER,
    force: 'true',
    fieldValidation: 'Strict',
  })
  for (let attempt = 1; ; attempt += 1) {
    const result = await kubernetes({
      method: 'PATCH',
      path: `${pathOf(target)}?${query.toString()}`,
      // JSON is YAML.
      contentType: 'application/apply-patch+yaml',
      body,
    })
    if ('object' in result) return result.object
    if (!isPassing(result.failure) || attempt >= ATTEMPTS_MAX) {
      throw refusal(result.failure, { ...target, verbs: 'create and patch' })
    }
    await sleep(BACKOFF_MS * 2 ** attempt)
  }
}

/**
 * Deletes an object; one that is not there is fine. Raises `forbidden` and `unavailable` with what
 * to do.
 */
export async function remove(kubernetes: Kubernetes, target: Target): Promise<void> {
  // The pods of a Job or a Deployment go with it: without this, those of a Job would stay.
  const path = `${pathOf(target)}?propagationPolicy=Background`
  const result = await kubernetes({ method: 'DELETE', path })
  if ('object' in result || result.failure.status === 404) return
  throw refusal(result.failure, { ...target, verbs: 'delete' })
}

/** Silence, a conflict, an overload: the same call may succeed soon. */
export const isPassing = ({ status }: KubernetesFailure): boolean =>
  status === 0 || status === 409 || status === 429 || status >= 500

/** Returns the API server's path of an object. */
export const pathOf = ({ kind, name, namespace }: Target): string =>
  `${pathOfKind(kind, namespace)}/${encodeURIComponent(name)}`

/** Returns the API server's path of the objects of a kind. */
export function pathOfKind(kind: ObjectKind, namespace?: string): string {
  const group = GROUPS[kind] ?? '/api/v1'
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${group}${place}/${PLURALS[kind]}`
}

interface Refused {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  /** The rights that the call takes. */
  readonly verbs: string
}

/**
 * A refused call, as people can act on it. The API server's own words name verb, resource,
 * namespace and account.
 */
export function refusal(
  { status, message }: KubernetesFailure,
  { kind, name, namespace, verbs }: Refused,
): AppError {
  const what = `${kind} ${name}${namespace === undefined ? '' : ` in namespace ${namespace}`}`
  const said = message || `HTTP ${status}`
  switch (status) {
    case 401:
      return new AppError('forbidden', `The API server does not know this pod's account: ${said}`)
    case 403:
      return new AppError(
        'forbidden',
        `Not allowed to ${verbs} the ${what}: ${said}. Grant it to the service account that ` +
          'does this, then try again.',
      )
    case 404:
      return new AppError(
        'not_found',
        `There is no place for the ${what}: ${said}. Create the namespace, then try again.`,
      )
    case 400:
    case 422:
      return new AppError('unprocessable', `The API server does not take the ${what}: ${said}`)
    default:
      return new AppError(
        'unavailable',
        `Could not ${verbs} the ${what}: ${said}. Try again; it is safe.`,
      )
  }
}
