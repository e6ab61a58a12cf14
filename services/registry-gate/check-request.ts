import { timingSafeEqual } from 'node:crypto'
import {
  REGISTRY_ACTIONS,
  registryCredential,
  repositoriesOf,
} from '../shared/registry-credentials.ts'
import type { RegistryAction } from '../shared/registry-credentials.ts'

/** A request as far as the gate decides by it. */
interface GatedRequest {
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly authorization: string | undefined
}

/** What becomes of a request: it goes on with this path and query, or is refused. */
type GateDecision =
  | { readonly path: string }
  | {
      readonly status: 401 | 403
      readonly code: 'UNAUTHORIZED' | 'DENIED'
      readonly message: string
    }

interface Caller {
  readonly organization: string
  readonly action: RegistryAction
}

/** Repositories, digests, tags and uploads need no other characters. */
const PLAIN_PATH = /^\/v2\/(?:[A-Za-z0-9_.:=-]+\/)*[A-Za-z0-9_.:=-]*$/

const denied = (message: string): GateDecision => ({ status: 403, code: 'DENIED', message })

/**
 * Decides about a request to the registry: a credential of an organization reaches the repositories
 * of that one alone, and one for pulls only reads.
 */
export function checkRequest(key: string | undefined, request: GatedRequest): GateDecision {
  const caller = key === undefined ? undefined : findCaller(key, request.authorization)
  if (!caller) {
    return {
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'a credential of an organization is needed',
    }
  }
  const [path = '', query = ''] = request.url.split('?')
  if (!PLAIN_PATH.test(path) || /(^|\/)\.\.?(\/|$)/.test(path)) {
    return denied('the path is none of a registry')
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead && caller.action === 'pull') return denied('this credential only pulls')
  if (path === '/v2/') return { path }
  if (!path.startsWith(`/v2/${caller.organization}/`)) {
    return denied(`repositories of this credential begin with ${caller.organization}/`)
  }
  return { path: path + ownQuery(query, caller) }
}

/** A layer may be taken over from repositories of the same organization only. */
function ownQuery(query: string, { organization }: Caller): string {
  const parameters = new URLSearchParams(query)
  const from = parameters.get('from')
  if (from !== null && !from.startsWith(`${organization}/`)) {
    // As the registry does it: the layer is uploaded instead.
    parameters.delete('from')
    parameters.delete('mount')
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function findCaller(key: string, authorization = ''): Caller | undefined {
  const [, encoded = ''] = /^Basic ([A-Za-z0-9+/=]{1,400})$/i.exec(authorization) ?? []
  const [username = '', password = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  const [, id = '', word = ''] = /^org-(\d{1,10})-(pull|push)$/.exec(username) ?? []
  const action = REGISTRY_ACTIONS.find((each) => each === word)
  if (action === undefined) return undefined
  const expected = Buffer.from(registryCredential(key, Number(id), action).password)
  const given = Buffer.from(password)
  const isRight = given.length === expected.length && timingSafeEqual(given, expected)
  return isRight ? { organization: repositoriesOf(Number(id)), action } : undefined
}
