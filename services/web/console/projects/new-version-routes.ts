import type { Hono } from 'hono'
import { retirementsOf, withSuccessors } from '../../../platform/connections/model-retirements.ts'
import { createVersion } from '../../../platform/projects/project-versions.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import { EXAMPLE_DEFINITION } from '../../api/designer/requests.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { FORM_BYTES_MAX, readEdited } from './editor/definition-form.ts'
import { shortenTexts } from './editor/kept-texts.ts'
import { createChoices } from './editor/offers.ts'
import {
  findNamedVersion,
  getOwnProject,
  getOwnVersion,
  requireDesigned,
  versionPath,
} from './own-project.ts'
import { newVersionPage } from './version-page.ts'
import { createRoom } from '../frame/room.ts'
import { ASSISTANT_MODEL } from '../../../platform/projects/assistant.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { Project } from '../../../platform/projects/projects.ts'

/** Serves the page on which a version is written, and adds it as a draft. */
export function newVersionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const retirements = retirementsOf(config.MODEL_RETIREMENTS)
  const audited = createAudited(sql)
  const room = createRoom(
    deps,
    {
      'draft-added': 'The draft is added. Nothing runs it until you publish it.',
      'successor-drafted':
        'The draft calls the successors of models that are turned off. Test it, then publish it.',
    },
    FORM_BYTES_MAX,
  )
  const choicesOf = createChoices(deps)

  room.page('editor', '/projects/:projectId/new-version', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    requireDesigned(project)
    const from = await findNamedVersion(sql, { organizationId, project }, c.req.query('from'))
    const text = definitionText(shortenTexts(from?.definition ?? firstDefinition(project)))
    const shown = { session: c.var.session, project, text, from: from?.number }
    return c.html(newVersionPage({ ...shown, choices: await choicesOf(c) }))
  })

  room.form('editor', '/projects/:projectId/versions', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    const from = await findNamedVersion(sql, { organizationId, project }, c.req.query('from'))
    const { text, read, isUnsaved } = readEdited(c, { definition: from?.definition })
    if (isUnsaved || 'problems' in read) {
      const problems = 'problems' in read ? read.problems : []
      const shown = { session: c.var.session, project, text, from: from?.number }
      const page = { ...shown, problems, isUnsaved, choices: await choicesOf(c, text) }
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

  room.form('editor', '/projects/:projectId/versions/:number/successor', async (c) => {
    const { project, version, key } = await getOwnVersion(c, sql)
    requireDesigned(project)
    const definition = withSuccessors(version.definition, retirements)
    const { number } = await audited(
      c.var,
      (tx) => createVersion(tx, key, definition),
      (created) => versionEntry('version_created', created),
    )
    return c.redirect(`${versionPath(project, number)}?notice=successor-drafted`, 303)
  })

  return room.routes
}

/** Returns the definition that the form of a project's first version begins with. */
const firstDefinition = ({ name }: Pick<Project, 'name'>): CrewDefinition => ({
  ...EXAMPLE_DEFINITION,
  name,
  llm: { model: ASSISTANT_MODEL },
})
