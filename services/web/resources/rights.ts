import type { TokenScope } from '../../platform/automations/token-limits.ts'
import type { Reader } from './declaration.ts'
import { namesOf } from './names.ts'

/** Where the API of resources is mounted. */
export const API = '/designer/v2'

/** Returns the path of a list, and that of one row, as routes are mounted. */
export function pathsOf({
  kind,
  under,
}: {
  readonly kind: string
  readonly under: { readonly path: string }
}): { readonly list: string; readonly one: string } {
  const { segment, parameter } = namesOf(kind)
  const list = `${under.path}/${segment}`
  return { list, one: `${list}/:${parameter}` }
}

/** Returns the scope that a token needs to change what is at a path of the API, or none. */
export const scopeAt =
  (path: string): Reader<readonly TokenScope[]> =>
  (declaration) => {
    const list = `${API}${pathsOf(declaration).list}`.replaceAll(/:\w+/g, '[^/]+')
    return new RegExp(`^${list}(/|$)`).test(path) && declaration.scope ? [declaration.scope] : []
  }
