import type { Hono } from 'hono'
import type { SignedIn, WebDeps } from '../../../context.ts'
import { FORM_BYTES_MAX, readEdited, toDraft } from './definition-form.ts'
import { editorForm } from './form.ts'
import { marksOf } from './marks.ts'
import { createChoices } from './offers.ts'
import { problemCount, problemItems } from './editor.ts'
import { getOwnProject } from '../own-project.ts'
import { crewGraph } from '../../frame/crew-graph.ts'
import { createRoom } from '../../frame/room.ts'

/** Answers the script of the editor: what is wrong with a definition, and its other side. */
export function editorRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {}, FORM_BYTES_MAX)
  const choicesOf = createChoices(deps)

  room.form('editor', '/projects/:projectId/editor', async (c) => {
    await getOwnProject(c, sql)
    const { text, read } = readEdited(c)
    const problems = 'problems' in read ? read.problems : []
    const draft = toDraft(text)
    const [count, list, graph] = [
      problemCount(problems),
      problemItems(problems),
      crewGraph(draft),
    ].map(String)
    const marks = marksOf(draft, problems)
    const shown = { text, problems: count, list, graph, marks }
    // While somebody types, the fields stay as they are.
    if (c.var.form.get('act') === 'show-form') return c.json(shown)
    const choices = await choicesOf(c, text)
    const [fields] = [editorForm(draft, { problems, choices })].map(String)
    return c.json({ ...shown, fields })
  })

  return room.routes
}
