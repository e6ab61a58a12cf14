import { inspectRoutes } from 'hono/dev'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Rights } from '../../../services/web/gate/callers/right.ts'
import { createRights } from '../../../services/web/gate/callers/rights.ts'
import { openPlatform } from './support/platform.ts'
import type { Platform } from './support/platform.ts'
import { isLong } from '../../support/long.ts'

/** As they stand in an address: NUL, what is no UTF-8, half an escape, other odd things. */
const ODD = ['%00', 'a%00b', '%ff', '%ed%a0%80', '%', '%0d%0aSet-Cookie:x=1', '9'.repeat(40)]
const PARAMETERS = ['next', 'notice', 'state', 'code', 'q', 'page', 'before', 'cursor', 'status']

interface Route {
  readonly method: string
  readonly path: string
}

let platform: Platform
let routes: Route[]
let rights: Rights

beforeAll(async () => {
  platform = await openPlatform()
  rights = createRights(() => platform.app)
  const mounted = inspectRoutes(platform.app).filter(({ isMiddleware }) => !isMiddleware)
  routes = mounted.map(({ method, path }) => ({
    method: method === 'ALL' ? 'GET' : method,
    path: path.replaceAll('*', 'x').replace(/\{[^}]*\}/g, ''),
  }))
})

afterAll(() => platform.close())

const withOdd = (path: string, odd: string): string => path.replace(/:[A-Za-z]+\??/g, () => odd)

/** All in the long form (`npm run test:long`), else one, which differs by route and caller. */
const oddFor = (route: number, caller: number): readonly string[] =>
  isLong ? ODD : [ODD[(route + 2 * caller) % ODD.length] ?? '']

/**
 * Some are turned away before anything reads the address: strangers from all that is not for
 * anybody, a token from pages, a person from the API of automations. One of three of these is
 * tried. The other APIs take a person and a token alike, and one of them is tried. The long form
 * has all.
 */
function isTried(caller: number, { method, path }: Route, index: number): boolean {
  if (isLong || rights.find(`${method} ${path}`) === 'anybody') return true
  if (/^\/(designer|tools)\//.test(path) && caller > 0) return index % 2 === caller - 1
  const isKnown = caller === (path.startsWith('/platform/') ? 2 : 1)
  return isKnown || index % 3 === 0
}

/** Nobody, a person, and the holder of a token for everything of an organization. */
async function callers(): Promise<Record<string, string>[]> {
  const { cookie, csrfToken } = await platform.signIn(platform.acme)
  const token = await platform.issueToken(platform.acme)
  return [
    {},
    { cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-origin' },
    { authorization: `Bearer ${token}` },
  ]
}

/** Pages that say that they are unavailable where no OAuth service runs, as here. */
const OAUTH_SERVICE = /^\/(new-connection|connect\/callback)\?/

/** What a gate answers, before anything has read the rest of the address. */
const isTurnedAway = ({ status, headers }: Response): boolean =>
  [401, 403, 405, 415].includes(status) || /^\/sign-in\b/.test(headers.get('location') ?? '')

/**
 * Sends addresses to a route; returns those that made a 5xx. A gate that has turned the caller away
 * from the first of them is asked about one more.
 */
async function failuresOf(
  method: string,
  { addresses, headers }: { addresses: readonly string[]; headers: Record<string, string> },
): Promise<string[]> {
  const failures: string[] = []
  let turnedAway = 0
  for (const address of addresses) {
    const response = await platform.app.request(address, { method, headers })
    const { status } = response
    const isExpected = status === 503 && OAUTH_SERVICE.test(address)
    if (status >= 500 && !isExpected) failures.push(`${status} ${method} ${address}`)
    if (isTurnedAway(response)) turnedAway += 1
    if (turnedAway === 2) break
  }
  return failures
}

it('there are routes with a parameter', () => {
  expect(routes.filter(({ path }) => path.includes(':')).length).toBeGreaterThan(15)
})

it('no odd byte in the path of any route makes a 5xx, whoever sends it', async () => {
  const failures: string[] = []
  const withParameter = routes.filter((each) => each.path.includes(':'))
  for (const [caller, headers] of (await callers()).entries()) {
    for (const [index, route] of withParameter.entries()) {
      if (!isTried(caller, route, index)) continue
      const { method, path } = route
      // What comes after an automation is looked at when there is one.
      const known = path.replace(':automationId', platform.acme.research.automationId)
      for (const each of new Set([path, known].filter((one) => one.includes(':')))) {
        const addresses = oddFor(index, caller).map((odd) => withOdd(each, odd))
        failures.push(...(await failuresOf(method, { addresses, headers })))
      }
    }
  }
  expect(failures).toEqual([])
}, 180_000)

it('no odd byte in the query of any route makes a 5xx, whoever sends it', async () => {
  const { automationId } = platform.acme.research
  const failures: string[] = []
  const queryOf = (odd: string) => PARAMETERS.map((name) => `${name}=${odd}`).join('&')
  const readable = routes.filter((each) => each.method === 'GET')
  for (const [caller, headers] of (await callers()).entries()) {
    for (const [index, route] of readable.entries()) {
      if (!isTried(caller, route, index)) continue
      const { method, path } = route
      const address = withOdd(path, automationId)
      const addresses = oddFor(index, caller).map((odd) => `${address}?${queryOf(odd)}`)
      failures.push(...(await failuresOf(method, { addresses, headers })))
    }
  }
  expect(failures).toEqual([])
}, 180_000)

it('a NUL in the path is a missing page, in the query a mistake that is named', async () => {
  const answer = async (path: string) => {
    const response = await platform.app.request(path)
    return [response.status, await response.text()]
  }
  const nowhere = await answer('/nowhere')
  expect(await answer('/tools/public/simple/%00/')).toEqual(nowhere)
  expect(await answer('/tools/public/files/%00')).toEqual(nowhere)
  const [status, text] = await answer('/sign-in?next=%00')
  expect([status, text]).toEqual([400, expect.stringContaining('holds %00 (NUL)')])
})
