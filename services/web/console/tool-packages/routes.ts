import type { Context, Hono } from 'hono'
import { findOrganization } from '../../../platform/people/organizations.ts'
import { isToolName, normalizeToolName } from '../../../platform/tools/python-packages.ts'
import { listToolPackages, pageToolFiles } from '../../../platform/tools/tool-packages.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { proposedDays } from '../../nouns/token-fields.ts'
import { isIdCursor, isNameCursor, readPageRequest } from '../frame/lists/page-request.ts'
import type { IndexName } from './commands.ts'
import { packagesPage } from './list-page.ts'
import { packagePage } from './package-page.ts'
import { PACKAGES_PATH } from './paths.ts'
import { yankRoutes } from './yank-routes.ts'
import { createRoom } from '../frame/room.ts'

/** The public packages that the page of an organization shows. */
const PUBLIC_ROWS = 10

/** Serves the packages of the tools index to people: what is there, and how to publish more. */
export function toolPackageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const baseUrl = config.PLATFORM_BASE_URL
  const room = createRoom(deps)

  room.page('viewer', PACKAGES_PATH, async (c) => {
    const index: IndexName = c.req.query('of') === 'public' ? 'public' : 'organization'
    const request = readPageRequest(c, isNameCursor)
    const { search } = request
    const [page, publicPage] = await Promise.all([
      listToolPackages(sql, ownerOf(c, index), request),
      index === 'public' ? undefined : listToolPackages(sql, null, { limit: PUBLIC_ROWS, search }),
    ])
    const lists = { index, page, request, publicPage }
    const days = proposedDays(config)
    return c.html(packagesPage({ session: c.var.session, baseUrl, ...lists, days }))
  })

  for (const index of ['organization', 'public'] as const) {
    room.page('viewer', `${PACKAGES_PATH}/${index}/:name`, async (c) => {
      const request = readPageRequest(c, isIdCursor)
      const name = normalizeToolName(c.req.param('name') ?? '')
      if (!isToolName(name)) throw noSuchPackage()
      const page = await pageToolFiles(sql, { owner: ownerOf(c, index), name }, request)
      if (page.total === 0 && request.search === undefined) throw noSuchPackage()
      const { session, notice } = c.var
      const view = { index, name, page, request, isOwn: await isOwn(c, index) }
      return c.html(packagePage({ session, baseUrl, ...view, notice }))
    })
  }

  async function isOwn(c: Context<SignedIn>, index: IndexName): Promise<boolean> {
    if (index === 'organization') return true
    const own = await findOrganization(sql, c.var.session.user.organizationId)
    return own?.internal ?? false
  }

  room.routes.route('/', yankRoutes(deps))
  return room.routes
}

const ownerOf = (c: Context<SignedIn>, index: IndexName): number | null =>
  index === 'public' ? null : c.var.session.user.organizationId

const noSuchPackage = (): AppError => new AppError('not_found', 'This index has no such package.')
