import type { Hono } from 'hono'
import { createProject, findProject, listProjects } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { projectEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { crewRoutes } from '../crews/routes.ts'
import { budgetRoutes } from './budget-routes.ts'
import { limitRoutes } from './limit-routes.ts'
import { managedRoutes } from './managed-routes.ts'
import { projectDocument } from './documents.ts'
import { readNumber, readNumberPage, readProject, toPage } from './requests.ts'
import { NOUNS } from '../../nouns/list.ts'
import { resourceApi } from '../../resources/api-routes.ts'
import { designerImportRoutes } from './import-routes.ts'
import { designerKnowledgeRoutes } from './knowledge-routes.ts'
import { designerRunRoutes } from './run-routes.ts'
import { designerCaseRoutes } from './case-routes.ts'
import { designerEvaluationRoutes } from './evaluation-routes.ts'
import { designerBatchRoutes } from './batch-routes.ts'
import { designerModelCallRoutes } from './model-call-routes.ts'
import { designerReplayRoutes } from './replay-routes.ts'
import { designerReceiptRoutes } from './receipt-routes.ts'
import { designerReleaseRoutes } from './release-routes.ts'
import { triggerDeliveryRoutes } from './trigger-routes.ts'
import { designerVersionRoutes } from './version-routes.ts'

/**
 * The designer, below `/designer/v2` (SPEC 9): the projects of an organization, their versions,
 * their runs, and the automations that are made from sources. Each route authenticates by itself,
 * so that addresses which are none are the one 404 of the whole service.
 */
export function designerRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)

  api.get('viewer', '/projects', async (c) => {
    const { organizationId } = c.var.caller
    const page = readNumberPage(c)
    const { limit, cursor: after = 0 } = page
    const projects = await listProjects(sql, { organizationId, after, limit: limit + 1 })
    const { items, next_cursor } = toPage(projects, page, {
      show: projectDocument,
      cursorOf: ({ id }) => id,
    })
    return c.json({ projects: items, next_cursor })
  })

  api.post('editor', '/projects', async (c) => {
    const { organizationId } = c.var.caller
    const wanted = { organizationId, ...(await readProject(c)) }
    const project = await audited(c.var, (tx) => createProject(tx, wanted), projectEntry)
    return c.json(projectDocument(project), 201, {
      location: `/designer/v2/projects/${project.id}`,
    })
  })

  api.get('viewer', '/projects/:projectId', async (c) => {
    const { organizationId } = c.var.caller
    const project = await findProject(sql, { organizationId, id: readNumber(c, 'projectId') })
    if (!project) throw new AppError('not_found', 'Your organization has no such project.')
    return c.json(projectDocument(project))
  })

  const routes = api.routes()
  routes.route('/', designerVersionRoutes(deps))
  routes.route('/', designerReleaseRoutes(deps))
  routes.route('/', designerReplayRoutes(deps))
  routes.route('/', designerModelCallRoutes(deps))
  routes.route('/', designerCaseRoutes(deps))
  routes.route('/', designerEvaluationRoutes(deps))
  routes.route('/', designerBatchRoutes(deps))
  routes.route('/', designerImportRoutes(deps))
  routes.route('/', designerKnowledgeRoutes(deps))
  routes.route('/', designerRunRoutes(deps))
  routes.route('/', designerReceiptRoutes(deps))
  routes.route('/', budgetRoutes(deps))
  routes.route('/', triggerDeliveryRoutes(deps))
  routes.route('/', limitRoutes(deps))
  routes.route('/', managedRoutes(deps))
  routes.route('/', crewRoutes(deps))
  for (const noun of NOUNS) routes.route('/', noun.read(resourceApi(deps)))
  return routes
}
