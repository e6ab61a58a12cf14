import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  createVersion,
  findVersion,
  listVersions,
  publishDraft,
  updateDraft,
} from '../../platform/project-versions.ts'
import type { VersionKey } from '../../platform/project-versions.ts'
import type { ProjectKey } from '../../platform/projects.ts'
import { findProject } from '../../platform/projects.ts'
import { AppError } from '../../shared/errors.ts'
import { requireOrganization } from '../callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { versionDocument, versionSummary } from './documents.ts'
import { readDefinition, readNumber, readNumberPage, toPage } from './requests.ts'
import { refuseMethod } from '../http/refuse-method.ts'
import { createPins } from '../tool-pins/create-pins.ts'

const NUMBER_MAX = 2 ** 31 - 1

/** The versions of a project: drafts that can be changed until they are published. */
export function designerVersionRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganization(deps)
  const pinOf = createPins(deps)
  const list = '/projects/:projectId/versions'
  const one = `${list}/:number`

  routes.get(list, authenticate, async (c) => {
    const key = projectKey(c)
    const page = readNumberPage(c)
    const { limit, cursor: before = NUMBER_MAX } = page
    const versions = await listVersions(sql, key, { before, limit: limit + 1 })
    if (versions.length === 0 && !(await findProject(sql, { ...key, id: key.projectId }))) {
      throw new AppError('not_found', 'Your organization has no such project.')
    }
    const { items, next_cursor } = toPage(versions, page, {
      show: versionSummary,
      cursorOf: ({ number }) => number,
    })
    return c.json({ versions: items, next_cursor })
  })

  routes.post(list, authenticate, async (c) => {
    const key = projectKey(c)
    const version = await createVersion(sql, key, await readDefinition(c))
    const { number } = version
    audit(c, 'version_created', { ...key, number })
    const location = `/designer/v2/projects/${key.projectId}/versions/${number}`
    return c.json(versionDocument(version), 201, { location })
  })
  routes.all(list, authenticate, refuseMethod('GET, HEAD, POST'))

  routes.get(one, authenticate, async (c) => {
    const version = await findVersion(sql, versionKey(c))
    if (!version) throw new AppError('not_found', 'This project has no such version.')
    return c.json(versionDocument(version))
  })

  routes.put(one, authenticate, async (c) => {
    const key = versionKey(c)
    const version = await updateDraft(sql, key, await readDefinition(c))
    audit(c, 'version_changed', key)
    return c.json(versionDocument(version))
  })
  routes.all(one, authenticate, refuseMethod('GET, HEAD, PUT'))

  routes.post(`${one}/publish`, authenticate, async (c) => {
    const key = versionKey(c)
    const version = await publishDraft(sql, key, pinOf(key.organizationId))
    audit(c, 'version_published', key)
    return c.json(versionDocument(version))
  })
  routes.all(`${one}/publish`, authenticate, refuseMethod('POST'))

  return routes
}

function projectKey(c: Context<OrganizationCall>): ProjectKey {
  const { organizationId } = c.var.caller
  return { organizationId, projectId: readNumber(c, 'projectId') }
}

const versionKey = (c: Context<OrganizationCall>): VersionKey => ({
  ...projectKey(c),
  number: readNumber(c, 'number'),
})

function audit(c: Context<OrganizationCall>, event: string, key: VersionKey): void {
  Object.assign(c.var.wide, { audit: event, project_id: key.projectId, version: key.number })
}
