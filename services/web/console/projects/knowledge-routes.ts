import type { Hono } from 'hono'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { updateDraft } from '../../../platform/projects/project-versions.ts'
import { AppError } from '../../../shared/errors.ts'
import { versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireCsrfToken, requireSameOrigin } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { readFileForm } from '../../http/file-uploads.ts'
import { addKnowledge, removeKnowledge } from '../../intake/knowledge/add-knowledge.ts'
import { createRoom } from '../frame/room.ts'
import { getOwnVersion, requireDesigned, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import type { Refuse } from './version-page.ts'

const PATH = '/projects/:projectId/versions/:number/knowledge'
const NO_FILE = 'Choose a file.'

/** Adds files to the knowledge of drafts, and removes it. */
export function knowledgeRoutes(deps: WebDeps, refuse: Refuse): Hono<SignedIn> {
  const { sql, config, takeKnowledge } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'knowledge-added': 'The knowledge is added to the draft.',
    'knowledge-added-in-part':
      'The knowledge is added to the draft, without the files of skills that are no text.',
    'knowledge-removed': 'The knowledge is removed from the draft.',
  })

  const save = (c: { readonly var: SignedIn['Variables'] }, own: OwnVersion, to: CrewDefinition) =>
    audited(
      c.var,
      (tx) => updateDraft(tx, own.key, { definition: to, since: own.version.definition }),
      versionEntry('version_changed', own.key),
    )

  room.upload('editor', PATH, async (c) => {
    requireSameOrigin(c, config.PLATFORM_BASE_URL)
    const own = await getOwnVersion(c, sql)
    requireDesigned(own.project)
    try {
      let agents: string[] = []
      const { texts, leftOut } = await takeKnowledge(async () => {
        const { fields, files } = await readFileForm(c.req.raw)
        requireCsrfToken(fields, c.var.session)
        agents = fields.getAll('agent')
        const [file] = files
        if (!file) throw new AppError('unprocessable', NO_FILE)
        return file
      })
      await save(c, own, addKnowledge(own.version.definition, texts, agents))
      const notice = leftOut.length === 0 ? 'knowledge-added' : 'knowledge-added-in-part'
      const path = versionPath(own.project, own.version.number)
      return c.redirect(`${path}?notice=${notice}#knowledge`, 303)
    } catch (thrown) {
      if (!(thrown instanceof AppError) || !REFUSED.has(thrown.code)) throw thrown
      return refuse(c, own, { problems: [], knowledgeProblem: thrown.message })
    }
  })

  room.form('editor', `${PATH}/remove`, async (c) => {
    const own = await getOwnVersion(c, sql)
    requireDesigned(own.project)
    await save(c, own, removeKnowledge(own.version.definition, c.var.form.get('name') ?? ''))
    const path = versionPath(own.project, own.version.number)
    return c.redirect(`${path}?notice=knowledge-removed#knowledge`, 303)
  })

  return room.routes
}

const REFUSED = new Set(['unprocessable', 'invalid_request', 'payload_too_large'])
