import type { Hono } from 'hono'
import type { SignedIn, WebDeps } from '../../context.ts'
import { FORM_BYTES_MAX, readEdited, toDraft } from './definition-form.ts'
import { editorForm } from './editor-form.ts'
import { problemCount, problemItems } from './editor.ts'
import { getOwnProject } from './own-project.ts'
import { createRoom } from '../frame/room.ts'

/** Answers the script of the editor: what is wrong with a definition, and its other side. */
export function editorRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {}, FORM_BYTES_MAX)

  room.form('editor', '/projects/:projectId/editor', async (c) => {
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

  return room.routes
}
