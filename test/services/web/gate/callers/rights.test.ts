import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  includesRole,
  ORGANIZATION_ROLES,
} from '../../../../../services/platform/people/memberships.ts'
import type { OrganizationRole } from '../../../../../services/platform/people/memberships.ts'
import type { Rights } from '../../../../../services/web/gate/callers/right.ts'
import { createRights } from '../../../../../services/web/gate/callers/rights.ts'
import { callRoute, fillPaths, mountedRoutes, signInAs } from '../../support/every-route.ts'
import type { MountedRoute } from '../../support/every-route.ts'
import { BASE_URL, openPlatform, withMembers } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'
import { isLong } from '../../../../support/long.ts'

// With each way to sign in, so that all of their routes are there.
const SIGN_IN = {
  AUTH_PROVIDER: 'oidc',
  OIDC_ISSUER_URL: 'http://127.0.0.1:9',
  OIDC_CLIENT_ID: 'platform',
  OIDC_CLIENT_SECRET: 'secret',
}

let platform: Platform
let fill: (path: string) => string
let routes: MountedRoute[]
let rights: Rights
const people = new Map<OrganizationRole | 'nobody' | 'platform-admin', SignedInUser>()

beforeAll(async () => {
  const opened = await openPlatform()
  platform = withMembers(opened, { app: opened.appAt(BASE_URL, SIGN_IN) })
  fill = await fillPaths(platform)
  rights = createRights(() => platform.app)
  const isOfOneAutomation = ({ path }: MountedRoute): boolean =>
    path.startsWith('/platform/api/') && !/\/(mcp|a2a(\/.*)?)$/.test(path)
  routes = mountedRoutes(platform.app).filter((route) => !isOfOneAutomation(route))
  for (const role of ORGANIZATION_ROLES) people.set(role, await signInAs(platform, role, role))
  people.set('nobody', await signInAs(platform, 'nobody'))
  people.set('platform-admin', await signInAs(platform, 'operator', 'platform-admin'))
})

afterAll(() => platform.close())

const BOTH = ['nobody', 'platform-admin'] as const

const keyOf = ({ method, path }: MountedRoute): string => `${method} ${path}`
const call = (route: MountedRoute, who?: Parameters<typeof callRoute>[2]) =>
  callRoute(platform, { ...route, path: fill(route.path) }, who)

const readable = (status: number): boolean => status < 400 || status === 404 || status === 503

/** The routes whose right is one of these. */
const routesFor = (...some: unknown[]): MountedRoute[] =>
  routes.filter((route) => some.includes(rights.find(keyOf(route))))

/** What differs from what is expected, by route: all of it is shown at once. */
async function differences(
  of: readonly MountedRoute[],
  check: (route: MountedRoute) => Promise<unknown>,
): Promise<string[]> {
  const found: string[] = []
  for (const route of of) {
    const problem = await check(route)
    if (problem !== undefined) found.push(`${keyOf(route)}: ${JSON.stringify(problem)}`)
  }
  return found
}

describe('the table of rights', () => {
  it('names every route that is mounted, and no other', () => {
    const mounted = routes
      .filter(({ method, path }) => method !== 'ALL' && !path.startsWith('/assets/'))
      .map(keyOf)
    expect([...rights.table().keys()].sort()).toEqual(mounted.sort())
  })
})

describe('a role', () => {
  it('includes those before it, and none after it', () => {
    const included = ORGANIZATION_ROLES.map((role) =>
      ORGANIZATION_ROLES.filter((needed) => includesRole(role, needed)),
    )
    expect(included).toEqual([['viewer'], ['viewer', 'editor'], ['viewer', 'editor', 'admin']])
  })
})

describe('every route', () => {
  it('sends strangers away', async () => {
    const closed = routesFor('token', 'person', 'platform-admin', ...ORGANIZATION_ROLES)
    expect(closed.length).toBeGreaterThan(100)
    const found = await differences(closed, async (route) => {
      const { status, location } = await call(route)
      const isAway = [401, 404].includes(status) || location?.startsWith('/sign-in')
      return isAway ? undefined : { status, location }
    })
    expect(found).toEqual([])
  })

  it.each(ORGANIZATION_ROLES)(
    'takes from %s what the table says, and nothing more',
    async (role) => {
      // Who may more may this, too, and who may less than the next role may not: `includesRole`
      // says so for all routes at once.
      const at = ORGANIZATION_ROLES.indexOf(role)
      const tried = routesFor(
        ...(isLong ? ORGANIZATION_ROLES : ORGANIZATION_ROLES.slice(at, at + 2)),
      )
      const found = await differences(tried, async (route) => {
        const { status, error } = await call(route, { cookie: people.get(role)?.cookie ?? '' })
        const needed = ORGANIZATION_ROLES.find((each) => each === rights.find(keyOf(route)))
        if (needed && !includesRole(role, needed)) {
          return status === 403 && error === 'forbidden' ? undefined : { needed, status, error }
        }
        // What may be read is there, or missing here; what may be changed takes a form of ours.
        const isGood = route.method === 'GET' ? readable(status) : error === 'csrf_failed'
        return isGood ? undefined : { needed, status, error }
      })
      expect(found).toEqual([])
    },
    60_000,
  )

  it('refuses people without an organization, administrators of the platform too', async () => {
    const found = await differences(routesFor(...ORGANIZATION_ROLES), async (route) => {
      // One of them for each route, and both in the long form.
      const isFirst = routes.indexOf(route) % 2 === 0
      const tried = isLong ? BOTH : [isFirst ? BOTH[0] : BOTH[1]]
      for (const who of tried) {
        const { error } = await call(route, { cookie: people.get(who)?.cookie ?? '' })
        if (error !== 'forbidden') return { who, error }
      }
      return undefined
    })
    expect(found).toEqual([])
  })

  it('of the whole platform is a 404 for all but its administrators', async () => {
    const found = await differences(routesFor('platform-admin'), async (route) => {
      const { status } = await call(route, { cookie: people.get('admin')?.cookie ?? '' })
      return status === 404 ? undefined : { status }
    })
    expect(found).toEqual([])
  })

  it('has nothing of another organization, for its admin as for anybody', async () => {
    const before = await snapshot()
    const stranger = await platform.signIn(platform.rival)
    const ids = /:(?!period|name\b|number)\w*[iI]d\b/
    const withIds = routesFor(...ORGANIZATION_ROLES).filter(({ path }) => ids.test(path))
    expect(withIds.length).toBeGreaterThan(70)
    const found = await differences(withIds, async (route) => {
      const { status } = await call(route, stranger)
      return status === 404 ? undefined : { status }
    })
    expect(found).toEqual([])
    expect(await snapshot()).toEqual(before)
  })

  it('that is mounted for all methods only says which of them there are', async () => {
    const admin = people.get('admin')
    const found = await differences(
      routes.filter(({ method }) => method === 'ALL'),
      async ({ path }) => {
        const { status } = await call({ method: 'PATCH', path }, admin)
        return [401, 404, 405].includes(status) ? undefined : { status }
      },
    )
    expect(found).toEqual([])
  })
})

/** The contents of all tables, but for what each request of a session and each refusal writes. */
async function snapshot(): Promise<Record<string, string>> {
  const { sql } = platform
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
      and table_name not in ('sessions', 'audit_entries')`
  // In one statement: there are some hundred tables.
  const digests = tables.map(({ name }) => {
    const rows = sql`md5(coalesce(string_agg(t::text, ' ' order by t::text), '')) as digest`
    return sql`select ${name} as name, ${rows} from ${sql(name)} t`
  })
  const contents = await sql<{ name: string; digest: string }[]>`
    ${digests.reduce((all, each) => sql`${all} union all ${each}`)}`
  return Object.fromEntries(contents.map(({ name, digest }) => [name, digest]))
}
