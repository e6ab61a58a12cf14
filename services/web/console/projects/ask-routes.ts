import type { Hono } from 'hono'
import { listConnectedModels } from '../../../platform/connections/llm-connections.ts'
import { REQUEST_CHARACTERS_MAX, startProposal } from '../../../platform/projects/proposals.ts'
import { AppError } from '../../../shared/errors.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { assistantSection, offeredModels } from './assistant-section.ts'
import { findNamedVersion, getOwnProject, projectPath, requireDesigned } from './own-project.ts'
import { createRoom } from '../frame/room.ts'
import { html } from 'hono/html'
import { page as frame } from '../frame/layout.ts'
import type { Html } from '../frame/parts.ts'
import type { AssistantForm } from './assistant-section.ts'

const REQUEST_PROBLEM =
  `Say in 1 to ${REQUEST_CHARACTERS_MAX} characters what the crew should do, ` +
  'or what to change.'

/** Takes what people ask the Assistant for. */
export function askRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)

  room.form('editor', '/projects/:projectId/proposals', async (c) => {
    const project = await getOwnProject(c, sql)
    requireDesigned(project)
    const { organizationId, id: createdBy } = c.var.session.user
    const models = await listConnectedModels(sql, organizationId)
    const base = await findNamedVersion(sql, { organizationId, project }, c.var.form.get('base'))
    const { request, model } = readRequest(c.var.form, offeredModels(models))
    const refuse = (problem: string, status: 409 | 422) => {
      const asked = { project, base: base?.number, models, typed: request, problem }
      return c.html(askPage({ session: c.var.session, ...asked }), status)
    }
    if (request === '' || request.length > REQUEST_CHARACTERS_MAX) {
      return refuse(REQUEST_PROBLEM, 422)
    }
    const idempotencyKey = startOnceKey(c.var.form.get('start_once'), { request, model })
    const asked = { organizationId, projectId: project.id, request, base, model, createdBy }
    try {
      const starter = toStarter(c.var.actor, 'assistant')
      const all = { ...asked, models: offeredModels(models), idempotencyKey, starter }
      const proposal = await startProposal(sql, all)
      c.var.wide['kickoff_id'] = proposal.runId
      return c.redirect(`${projectPath(project)}/proposals/${proposal.id}`, 303)
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return refuse(thrown.message, thrown.code === 'conflict' ? 409 : 422)
    }
  })

  return room.routes
}

/** A model that is not offered is not called: the first one is. */
function readRequest(form: URLSearchParams, offered: readonly string[]) {
  const request = (form.get('request') ?? '').replaceAll('\r\n', '\n').trim()
  const model = offered.find((each) => each === form.get('model')) ?? offered[0] ?? ''
  return { request, model }
}

/** The form that asks the Assistant again, when it was refused. */
const askPage = (form: AssistantForm): Html =>
  frame(
    { title: 'Ask the Assistant', session: form.session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a
        ><a href="${projectPath(form.project)}">${form.project.name}</a>
      </nav>
      <div class="page-head"><h1>Ask the Assistant</h1></div>
      ${assistantSection(form)}`,
  )
