import { Hono } from 'hono'
import type { Context } from 'hono'
import { listConnectedModels } from '../../../platform/llm-connections.ts'
import { pinDraft, publishDraft, updateDraft } from '../../../platform/project-versions.ts'
import { problemsOf } from '../../../platform/proposal-answer.ts'
import { AppError } from '../../../shared/errors.ts'
import { versionEntry } from '../../callers/audit-entries.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createPins } from '../../tool-pins/create-pins.ts'
import { noticeOf } from '../frame/notices.ts'
import { FORM_BYTES_MAX, readDefinitionForm } from './definition-form.ts'
import { getOwnVersion, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import { versionPage } from './version-page.ts'
import type { Refused } from './version-page.ts'

/** Serves the page of a version, on which drafts are changed and published. */
export function projectVersionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL, FORM_BYTES_MAX)
  const pinOf = createPins(deps)
  const one = '/projects/:projectId/versions/:number'

  const readPage = async (c: Context<SignedIn>, { project, version }: OwnVersion) => ({
    session: c.var.session,
    project,
    version,
    base: version.number,
    models: await listConnectedModels(sql, c.var.session.user.organizationId),
  })

  const refuse = async (c: Context<SignedIn>, own: OwnVersion, refused: Refused) =>
    c.html(versionPage({ ...(await readPage(c, own)), refused }), 422)

  routes.get(one, session, async (c) => {
    const page = await readPage(c, await getOwnVersion(c, sql))
    return c.html(versionPage({ ...page, notice: noticeOf(c.req.query('notice')) }))
  })

  routes.post(one, session, form, async (c) => {
    const own = await getOwnVersion(c, sql)
    const { text, read } = readDefinitionForm(c)
    if ('problems' in read) return refuse(c, own, { text, problems: read.problems })
    await audited(
      c.var,
      (tx) => updateDraft(tx, own.key, read.definition),
      versionEntry('version_changed', own.key),
    )
    return c.redirect(`${versionPath(own.project, own.version.number)}?notice=draft-saved`, 303)
  })

  routes.post(`${one}/publish`, session, form, async (c) => {
    const own = await getOwnVersion(c, sql)
    const { number } = own.version
    try {
      const draft = await pinDraft(sql, own.key, pinOf(own.key.organizationId))
      await audited(
        c.var,
        (tx) => publishDraft(tx, draft),
        versionEntry('version_published', own.key),
      )
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== 'unprocessable') throw thrown
      return refuse(c, own, { problems: problemsOf(thrown) })
    }
    return c.redirect(`${versionPath(own.project, number)}?notice=version-published`, 303)
  })

  return routes
}
