import { Hono } from 'hono'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { FORM_BYTES_MAX, readEdited, toDraft } from './definition-form.ts'
import { editorForm } from './editor-form.ts'
import { problemCount, problemItems } from './editor.ts'
import { getOwnProject } from './own-project.ts'

/** Answers the script of the editor: what is wrong with a definition, and its other side. */
export function editorRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const form = requireForm(config.PLATFORM_BASE_URL, FORM_BYTES_MAX)

  routes.post('/projects/:projectId/editor', requireSession(deps), form, async (c) => {
    await getOwnProject(c, sql)
    const { text, read } = readEdited(c)
    const problems = 'problems' in read ? read.problems : []
    const [fields, count, list] = [
      editorForm(toDraft(text)),
      problemCount(problems),
      problemItems(problems),
    ].map(String)
    return c.json({ text, fields, problems: count, list })
  })

  return routes
}
