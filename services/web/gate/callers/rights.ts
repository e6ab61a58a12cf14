import type { Hono } from 'hono'
import type { WebApp } from '../../context.ts'
import { declaredRights } from './declared-right.ts'
import { hasRight, isRole } from './right.ts'
import type { Right, RightOfRoute, Rights } from './right.ts'

/** Reads who may call the routes of an app, once all of them are mounted: at the first question. */
export function createRights(appOf: () => Pick<Hono<WebApp>, 'routes'>): Rights {
  let known: ReadonlyMap<string, Right> | undefined
  let patterns: readonly Pattern[] | undefined
  const table = () => (known ??= new Map(declaredRights(appOf().routes)))
  return {
    table,
    find: (route) => (route.startsWith('GET /assets/') ? 'anybody' : table().get(route)),
    mayCall(session, method, path) {
      patterns ??= [...table()].flatMap(toPattern)
      const found = patterns.find((each) => each.method === method && each.pattern.test(path))
      return found === undefined || hasRight(session, found.right)
    },
  }
}

interface Pattern {
  readonly method: string
  /** Fits the paths that lead to the route. */
  readonly pattern: RegExp
  readonly right: Right
}

/** Only roles decide what a member sees. */
function toPattern([route, right]: RightOfRoute): Pattern[] {
  if (!isRole(right)) return []
  const [method = '', path = ''] = route.split(' ')
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
  return [{ method, pattern, right }]
}
