import type { TokenScope } from '../../platform/automations/token-limits.ts'
import type { Reader } from './declaration.ts'
import { namesOf } from './names.ts'

/** Where the API of resources is mounted. */
export const API = '/designer/v2'

interface Placed {
  readonly kind: string
  readonly under: { readonly path: string; readonly pages?: string }
}

/** Returns the path of a list, and that of one row, as routes of the API are mounted, or pages. */
export function pathsOf({ kind, under }: Placed, at: 'api' | 'pages' = 'api') {
  const { segment, parameter } = namesOf(kind)
  const list = `${at === 'pages' ? (under.pages ?? '') : ''}${under.path}/${segment}`
  return { list, one: `${list}/:${parameter}` }
}

/**
 * Returns the paths of a noun in the API with the scope that changes what is there, before those of
 * which one is enough to read it; none where it is for sessions alone.
 */
export const scopedPathsOf: Reader<readonly ScopedPath[]> = ({ rights, scope, ...placed }) => {
  const list = `${API}${pathsOf(placed).list}`.replaceAll(/:\w+/g, '[^/]+')
  const pattern = new RegExp(`^${list}(/|$)`)
  return scope ? [[pattern, rights.read === 'admin' ? [scope] : [scope, 'read', 'design']]] : []
}
type ScopedPath = readonly [pattern: RegExp, scopes: readonly TokenScope[]]
