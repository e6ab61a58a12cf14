import type { Context } from 'hono'
import * as v from 'valibot'
import { PROBLEM_LEVELS } from '../../../platform/projects/crewai/report.ts'
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
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { createImports } from '../../intake/project-import/create-imports.ts'
import { readArchive, readUpload } from '../../intake/project-import/read-upload.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import { definitionSchema, versionDocument, wholeVersion } from './documents.ts'
import { readNumber } from './requests.ts'

/** The files of a project by their paths. */
const filesBody = v.strictObject({
  files: v.record(v.string(), v.string('must be a text'), 'must hold paths with texts'),
})

const problem = { file: s.text, key: s.text, level: s.words(PROBLEM_LEVELS), message: s.text }
const problems = s.list(s.document('ImportProblem', problem))
const preview = s.document('ImportPreview', {
  definition: { anyOf: [definitionSchema, { type: 'null' }] },
  problems,
  refusal: s.perhapsText,
})
const imported = s.document('ImportedVersion', { ...wholeVersion, problems })
const example = { files: { 'crew.jsonc': '{…}' } }

const add = operation('importProject', 'Add a draft that is made of a CrewAI project', {
  parameters: [
    s.flag('dry_run', 'Only say what would become of it.'),
    s.flag('leave_out', 'Import it without what has no equivalent.'),
  ],
  body: {
    content: {
      ...jsonBody('ImportRequest', filesBody, { example }).content,
      'application/zip': s.file,
      'multipart/form-data': {
        // Under any name; this one is for generators of clients.
        schema: { type: 'object', properties: { files: s.list(s.file.schema) } },
      },
    },
  },
  200: ['What would become of it, with dry_run.', preview],
  201: ['It is added.', imported, s.location('Where it is.')],
  400: 'The files cannot be read.',
  413: 'The project has more than 2 MiB or 1000 files.',
  415: 'Not one of these media types.',
  422: 'The project cannot be imported; details.problems has each place.',
})

/** Imports CrewAI projects as drafts. */
export function designerImportRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const path = '/projects/:projectId/imports'

  const importFiles = createImports()

  api.post('editor', [path, add], async (c) => {
    const { organizationId } = c.var.caller
    const projectId = readNumber(c, 'projectId')
    const isDryRun = readFlag(c, 'dry_run')
    const leaveOut = readFlag(c, 'leave_out')
    if (!(await findProject(sql, { organizationId, id: projectId }))) {
      throw new AppError('not_found', 'Your organization has no such project.')
    }
    const read = await importFiles(() => readFiles(c.req.raw))
    const { definition = null, problems } = read
    const refusal = refusalOf(read, { leaveOut })
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
    return c.json({ ...versionDocument.of(version), problems }, 201, { location })
  })
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
