import type { Context, Hono } from 'hono'
import { parseCrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { createVersion } from '../../../platform/projects/project-versions.ts'
import { ensureProject, projectNameProblem } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { CSRF_FIELD } from '../../gate/callers/csrf-field.ts'
import { formExpired, isSame, requireSameOrigin } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createImports } from '../../intake/project-import/create-imports.ts'
import { readUpload } from '../../intake/project-import/read-upload.ts'
import { previewPage, uploadPage } from './page.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the import of CrewAI projects: an upload, what would become of it, and the draft. */
export function importProjectRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'project-imported': 'The draft is stored. Publish it to run it.',
  })
  const importFiles = createImports()

  room.page('editor', '/import-project', (c) => c.html(uploadPage({ session: c.var.session })))

  room.upload('editor', '/import-project', async (c) => {
    requireSameOrigin(c, config.PLATFORM_BASE_URL)
    try {
      const imported = await importFiles(() => readProject(c))
      const status = imported.definition ? 200 : 422
      return c.html(previewPage({ session: c.var.session, imported }), status)
    } catch (thrown) {
      if (!(thrown instanceof AppError) || !(thrown.status === 400 || thrown.status === 413))
        throw thrown
      return c.html(uploadPage({ session: c.var.session, problem: thrown.message }), thrown.status)
    }
  })

  room.form('editor', '/import-project/drafts', async (c) => {
    const definition = readDefinition(c.var.form)
    const name = c.var.form.get('project') ?? ''
    const wrong = projectNameProblem(name)
    if (wrong !== undefined) {
      const page = { session: c.var.session, imported: { definition, problems: [] }, name }
      return c.html(previewPage({ ...page, problem: `The name ${wrong}.` }), 422)
    }
    const { organizationId } = c.var.session.user
    const { projectId, number } = await audited(
      c.var,
      async (tx) => {
        const projectId = await ensureProject(tx, { organizationId, name })
        return createVersion(tx, { organizationId, projectId }, definition)
      },
      (created) => versionEntry('version_imported', created),
    )
    return c.redirect(`/projects/${projectId}/versions/${number}?notice=project-imported`, 303)
  })

  return room.routes
}

async function readProject(c: Context<SignedIn>) {
  if (mediaType(c.req.raw) !== 'multipart/form-data') {
    throw new AppError('unsupported_media_type', 'This page takes the form that it shows.')
  }
  const { files, fields } = await readUpload(c.req.raw)
  if (!isSame(fields.get(CSRF_FIELD) ?? '', c.var.session.csrfToken)) throw formExpired()
  return files
}

/** The definition that the page showed, or another one: whoever sends it could add that as well. */
function readDefinition(form: URLSearchParams): CrewDefinition {
  const text = form.get('definition') ?? ''
  return parseCrewDefinition(parseStrictJson(Buffer.from(text), 'The definition'))
}
