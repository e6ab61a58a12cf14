import type { Context, Hono } from 'hono'
import {
  createVersion,
  findVersion,
  listVersions,
  pinDraft,
  publishDraft,
  updateDraft,
} from '../../../platform/projects/project-versions.ts'
import type { ProjectKey, VersionKey } from '../../../platform/projects/projects.ts'
import { findProject } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { versionDocument, versionSummary } from './documents.ts'
import { readDefinition, readNumber, readNumberPage, readPercent, toPage } from './requests.ts'
import { createPins } from '../../intake/tool-pins/create-pins.ts'

const NUMBER_MAX = 2 ** 31 - 1

/** The versions of a project: drafts that can be changed until they are published. */
export function designerVersionRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const list = '/projects/:projectId/versions'
  const one = `${list}/:number`

  api.get('viewer', list, async (c) => {
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

  api.post('editor', list, async (c) => {
    const key = projectKey(c)
    const definition = await readDefinition(c)
    const version = await audited(
      c.var,
      (tx) => createVersion(tx, key, definition),
      (created) => versionEntry('version_created', created),
    )
    const { number } = version
    const location = `/designer/v2/projects/${key.projectId}/versions/${number}`
    return c.json(versionDocument(version), 201, { location })
  })

  api.get('viewer', one, async (c) => {
    const version = await findVersion(sql, versionKey(c))
    if (!version) throw new AppError('not_found', 'This project has no such version.')
    return c.json(versionDocument(version))
  })

  api.put('editor', one, async (c) => {
    const key = versionKey(c)
    const definition = await readDefinition(c)
    const entry = versionEntry('version_changed', key)
    const version = await audited(c.var, (tx) => updateDraft(tx, key, { definition }), entry)
    return c.json(versionDocument(version))
  })

  const routes = api.routes()
  routes.route('/', publishRoutes(deps, `${one}/publish`))
  return routes
}

function publishRoutes(deps: WebDeps, path: string): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const pinOf = createPins(deps)

  api.post('editor', path, async (c) => {
    const key = versionKey(c)
    const percent = readPercent(c)
    const draft = await pinDraft(sql, key, pinOf(key.organizationId))
    const entry = versionEntry('version_published', key)
    const share = { percent, stickyInput: null }
    const version = await audited(c.var, (tx) => publishDraft(tx, draft, { share }), entry)
    return c.json(versionDocument(version))
  })

  return api.routes()
}

function projectKey(c: Context<OrganizationCall>): ProjectKey {
  const { organizationId } = c.var.caller
  return { organizationId, projectId: readNumber(c, 'projectId') }
}

const versionKey = (c: Context<OrganizationCall>): VersionKey => ({
  ...projectKey(c),
  number: readNumber(c, 'number'),
})
