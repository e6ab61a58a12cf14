import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import { PROJECT_BYTES_MAX } from '../../../platform/projects/crewai/project-files.ts'
import type { ProjectFiles } from '../../../platform/projects/crewai/project-files.ts'
import { refusalOf } from '../../../platform/projects/crewai/refusal.ts'
import { createVersion } from '../../../platform/projects/project-versions.ts'
import { findProject } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { createImports } from '../../intake/project-import/create-imports.ts'
import { readArchive, readUpload } from '../../intake/project-import/read-upload.ts'
import { versionDocument } from './documents.ts'
import { readNumber } from './requests.ts'

/** The files of a project by their paths. */
export const filesBody = v.strictObject({
  files: v.record(v.string(), v.string('must be a text'), 'must hold paths with texts'),
})

/** Imports CrewAI projects as drafts. */
export function designerImportRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const path = '/projects/:projectId/imports'

  const importFiles = createImports()

  api.post('editor', path, async (c) => {
    const { organizationId } = c.var.caller
    const projectId = readNumber(c, 'projectId')
    const isDryRun = readFlag(c, 'dry_run')
    const leaveOut = readFlag(c, 'leave_out')
    if (!(await findProject(sql, { organizationId, id: projectId }))) {
      throw new AppError('not_found', 'Your organization has no such project.')
    }
    const imported = await importFiles(() => readFiles(c.req.raw))
    const { definition = null, problems } = imported
    const refusal = refusalOf(imported, { leaveOut })
    if (isDryRun) return c.json({ definition, problems, refusal: refusal ?? null })
    if (refusal !== undefined || definition === null) {
      const message = `${refusal} With leave_out=true it is imported without what is left out.`
      throw new AppError('unprocessable', definition ? message : (refusal ?? ''), {
        details: { problems },
      })
    }
    const version = await audited(
      c.var,
      (tx) => createVersion(tx, { organizationId, projectId }, definition),
      (created) => versionEntry('version_imported', created),
    )
    const { number } = version
    const location = `/designer/v2/projects/${projectId}/versions/${number}`
    return c.json({ ...versionDocument(version), problems }, 201, { location })
  })

  return api.routes()
}

async function readFiles(request: Request): Promise<ProjectFiles> {
  switch (mediaType(request)) {
    case 'application/zip':
    case 'application/x-zip-compressed':
      return readArchive(request)
    case 'multipart/form-data':
      return (await readUpload(request)).files
    case 'application/json':
      return toFiles(await readJson(request, PROJECT_BYTES_MAX))
    default:
      throw new AppError(
        'unsupported_media_type',
        'Send the project as application/zip, as multipart/form-data with its files, or as ' +
          'application/json: {"files": {"crew.jsonc": "…"}}.',
      )
  }
}

function toFiles(body: unknown): ProjectFiles {
  const result = v.safeParse(filesBody, body)
  if (!result.success) {
    throw new AppError(
      'unprocessable',
      'The body is {"files": {"crew.jsonc": "…", "agents/writer.jsonc": "…"}}: paths with texts.',
    )
  }
  return new Map(
    Object.entries(result.output.files).map(([path, text]) => [path, Buffer.from(text)]),
  )
}

function readFlag(c: Context, name: string): boolean {
  const given = c.req.queries(name) ?? []
  const [value = 'false', ...others] = given
  if (others.length === 0 && (value === 'true' || value === 'false')) return value === 'true'
  throw new AppError('invalid_request', `${name} is true or false, and given once.`)
}
