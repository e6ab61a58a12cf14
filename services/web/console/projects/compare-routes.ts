import type { Hono } from 'hono'
import { listVersions } from '../../../platform/projects/project-versions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { comparePage } from './compare-page.ts'
import { findNamedVersion, getOwnProject } from './own-project.ts'
import { createRoom } from '../frame/room.ts'

const CHOICES_MAX = 100
const NUMBER_MAX = 2 ** 31 - 1

/** Serves the difference of two versions of a project: the newest two, unless others are named. */
export function compareRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)

  room.page('viewer', '/projects/:projectId/compare', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    const key = { organizationId, projectId: project.id }
    const owner = { organizationId, project }
    const page = { before: NUMBER_MAX, limit: CHOICES_MAX }
    const versions = await listVersions(sql, key, page)
    const to = (await findNamedVersion(sql, owner, c.req.query('to'))) ?? versions[0]
    const before = versions.find(({ number }) => to && number < to.number)
    const from = (await findNamedVersion(sql, owner, c.req.query('from'))) ?? before ?? to
    if (!from || !to) throw new AppError('not_found', 'This project has no versions to compare.')
    return c.html(comparePage({ session: c.var.session, project, versions, from, to }))
  })

  return room.routes
}
