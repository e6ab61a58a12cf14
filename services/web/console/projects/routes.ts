import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import {
  createProject,
  listProjectPage,
  projectNameProblem,
} from '../../../platform/projects/projects.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import { listVersions } from '../../../platform/projects/project-versions.ts'
import { findRelease } from '../../../platform/projects/releases.ts'
import {
  listProposals,
  REQUEST_CHARACTERS_MAX,
  startProposal,
} from '../../../platform/projects/proposals.ts'
import { listConnectedModels } from '../../../platform/connections/llm-connections.ts'
import { AppError } from '../../../shared/errors.ts'
import { projectEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { isNameCursor, readPageRequest } from '../frame/lists/page-request.ts'
import type { Undo } from '../frame/undo.ts'
import { createRoom } from '../frame/room.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { page as frame } from '../frame/layout.ts'
import type { Html } from '../frame/parts.ts'
import { compareRoutes } from './compare-routes.ts'
import { editorRoutes } from './editor/routes.ts'
import { projectsPage } from './list-page.ts'
import { manageRoutes } from './manage-routes.ts'
import { newVersionRoutes } from './new-version-routes.ts'
import { getOwnProject, projectPath, findNamedVersion, requireDesigned } from './own-project.ts'
import { projectPage } from './page.ts'
import { proposalRoutes } from './proposal-routes.ts'
import { projectVersionRoutes } from './version-routes.ts'
import { assistantSection, offeredModels } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'

const VERSIONS_SHOWN = 50
const NUMBER_MAX = 2 ** 31 - 1

/** What a redirect says was done, and the way back from it. */
const readDone = (c: Context<SignedIn>, project: Project) => ({
  notice: c.var.notice,
  undo: undoOf(c, project),
})

function undoOf(c: Context<SignedIn>, project: Project): Undo | undefined {
  const path = projectPath(project)
  switch (c.req.query('notice')) {
    case 'project-archived':
      return { action: `${path}/unarchive` }
    case 'project-unarchived':
      return { action: `${path}/archive` }
    case 'project-renamed': {
      const name = c.req.query('former') ?? ''
      const isName = projectNameProblem(name) === undefined && name !== project.name
      return isName ? { action: `${path}/rename`, fields: { name } } : undefined
    }
    case undefined:
    default:
      return undefined
  }
}

/** Serves the designer's pages: projects, their versions, and what the Assistant proposes. */
export function projectRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps)

  const readList = async (c: Context<SignedIn>) => {
    const request = readPageRequest(c, isNameCursor)
    const isArchived = c.req.query('state') === 'archived'
    const { organizationId } = c.var.session.user
    const page = await listProjectPage(sql, organizationId, { ...request, isArchived })
    const notice = c.var.notice
    return { session: c.var.session, page, request, isArchived, notice }
  }

  room.page('viewer', '/projects', async (c) => c.html(projectsPage(await readList(c))))

  room.form('editor', '/projects', async (c) => {
    const { organizationId } = c.var.session.user
    const name = (c.var.form.get('name') ?? '').trim()
    const refuse = async (problem: string) =>
      c.html(projectsPage({ ...(await readList(c)), typed: name, problem }), 422)
    const problem = projectNameProblem(name)
    if (problem !== undefined) return refuse(`The name ${problem}.`)
    try {
      const wanted = { organizationId, name }
      const project = await audited(c.var, (tx) => createProject(tx, wanted), projectEntry)
      return c.redirect(projectPath(project), 303)
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') return refuse(thrown.message)
      throw thrown
    }
  })

  room.page('viewer', '/projects/:projectId', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    const key = { organizationId, projectId: project.id }
    const page = {
      session: c.var.session,
      project,
      versions: await listVersions(sql, key, { before: NUMBER_MAX, limit: VERSIONS_SHOWN }),
      release: await findRelease(sql, key),
      proposals: await listProposals(sql, key),
      models: await listConnectedModels(sql, organizationId),
      base: project.lastVersion || undefined,
      ...readDone(c, project),
    }
    return c.html(projectPage(page))
  })

  room.routes.route('/', newVersionRoutes(deps))
  room.routes.route('/', editorRoutes(deps))
  room.routes.route('/', compareRoutes(deps))
  room.routes.route('/', manageRoutes(deps))
  room.routes.route('/', projectVersionRoutes(deps))
  room.routes.route('/', askRoutes(deps))
  room.routes.route('/', proposalRoutes(deps))
  return room.routes
}

const REQUEST_PROBLEM =
  `Say in 1 to ${REQUEST_CHARACTERS_MAX} characters what the crew should do, ` +
  'or what to change.'

/** Takes what people ask the Assistant for. */
function askRoutes(deps: WebDeps): Hono<SignedIn> {
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
