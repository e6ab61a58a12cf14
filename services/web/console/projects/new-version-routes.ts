import type { Hono } from 'hono'
import { createVersion } from '../../../platform/projects/project-versions.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { FORM_BYTES_MAX, readEdited } from './editor/definition-form.ts'
import { createChoices } from './editor/offers.ts'
import { findNamedVersion, getOwnProject, requireDesigned, versionPath } from './own-project.ts'
import { firstDefinition } from './first-definition.ts'
import { newVersionPage } from './version-page.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the page on which a version is written, and adds it as a draft. */
export function newVersionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {}, FORM_BYTES_MAX)
  const choicesOf = createChoices(deps)

  room.page('editor', '/projects/:projectId/new-version', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    requireDesigned(project)
    const from = await findNamedVersion(sql, { organizationId, project }, c.req.query('from'))
    const text = definitionText(from?.definition ?? firstDefinition(project))
    const choices = await choicesOf(c)
    return c.html(newVersionPage({ session: c.var.session, project, text, choices }))
  })

  room.form('editor', '/projects/:projectId/versions', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    const { text, read, isUnsaved } = readEdited(c)
    if (isUnsaved || 'problems' in read) {
      const problems = 'problems' in read ? read.problems : []
      const choices = await choicesOf(c, text)
      const page = { session: c.var.session, project, text, problems, isUnsaved, choices }
      return c.html(newVersionPage(page), isUnsaved ? 200 : 422)
    }
    const key = { organizationId, projectId: project.id }
    const { definition } = read
    const { number } = await audited(
      c.var,
      (tx) => createVersion(tx, key, definition),
      (created) => versionEntry('version_created', created),
    )
    return c.redirect(`${versionPath(project, number)}?notice=draft-added`, 303)
  })

  return room.routes
}
