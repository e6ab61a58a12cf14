import type { TokenScope } from '../../platform/automations/token-limits.ts'
import type { RightOfRoute } from '../gate/callers/right.ts'
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

/** Returns who may call the API of a resource. */
export const apiRights: Reader<readonly RightOfRoute[]> = (declaration) => {
  const { rights, verbs, actions } = declaration
  const { list, one } = pathsOf(declaration)
  return [
    [`GET ${API}${list}`, rights.read],
    ...(verbs.create ? [[`POST ${API}${list}`, rights.change] as const] : []),
    [`GET ${API}${one}`, rights.read],
    ...(verbs.change ? [[`PUT ${API}${one}`, rights.change] as const] : []),
    ...(verbs.remove ? [[`DELETE ${API}${one}`, rights.change] as const] : []),
    ...Object.keys(actions).map((action): RightOfRoute => [
      `POST ${API}${one}/${action}`,
      rights.change,
    ]),
  ]
}

/**
 * Returns the scope that changes what is at a path of the API, before those of which one is enough
 * to read it; none where there is another noun.
 */
export const scopesAt =
  (path: string): Reader<readonly TokenScope[]> =>
  (declaration) => {
    const { rights, scope } = declaration
    const list = `${API}${pathsOf(declaration).list}`.replaceAll(/:\w+/g, '[^/]+')
    if (!new RegExp(`^${list}(/|$)`).test(path)) return []
    return rights.read === 'admin' ? [scope] : [scope, 'read', 'design']
  }
