import type { Hono } from 'hono'
import { createProject, listProjects } from '../../../platform/projects/projects.ts'
import { projectEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { crewRoutes } from '../crews/routes.ts'
import { budgetRoutes } from './budget-routes.ts'
import { limitRoutes } from './limit-routes.ts'
import { managedRoutes } from './managed-routes.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { projectDocument } from './documents.ts'
import { getProject, nameBody, paged, pagesOf, readNumberPage } from './requests.ts'
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
import { designerReviewRoutes } from './review-routes.ts'
import { designerScoreRoutes } from './score-routes.ts'
import { designerTraceScoreRoutes } from './trace-score-routes.ts'
import { triggerDeliveryRoutes } from './trigger-routes.ts'
import { designerVersionRoutes } from './version-routes.ts'

const projects = pagesOf(['ProjectList', 'projects'], projectDocument, ({ id }) => id)
const newProject = jsonBody('ProjectRequest', nameBody, { example: { name: 'Newsletter' } })

const list = operation('listProjects', 'The projects of the organization', {
  ...paged,
  200: projects,
})
const create = operation('createProject', 'Create a project', {
  body: newProject,
  201: ['It is created.', projectDocument, s.location('Where it is.')],
  409: 'There is a project of that name.',
})
const get = operation('getProject', 'A project', { 200: projectDocument })

const ROOMS = [
  designerVersionRoutes,
  designerReleaseRoutes,
  designerReplayRoutes,
  designerModelCallRoutes,
  designerCaseRoutes,
  designerEvaluationRoutes,
  designerReviewRoutes,
  designerScoreRoutes,
  designerTraceScoreRoutes,
  designerImportRoutes,
  designerKnowledgeRoutes,
  designerRunRoutes,
  designerReceiptRoutes,
  budgetRoutes,
  triggerDeliveryRoutes,
  managedRoutes,
  crewRoutes,
]

/**
 * The designer, below `/designer/v2` (SPEC 9): the projects of an organization, their versions,
 * their runs, and the automations that are made from sources. Each route authenticates by itself,
 * so that addresses which are none are the one 404 of the whole service.
 */
export function designerRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)

  api.get('viewer', ['/projects', list], async (c) => {
    const { organizationId } = c.var.caller
    const page = await projects.read(readNumberPage(c), ({ limit, cursor: after = 0 }) =>
      listProjects(sql, { organizationId, after, limit }),
    )
    return c.json(page)
  })

  api.post('editor', ['/projects', create], async (c) => {
    const { organizationId } = c.var.caller
    const wanted = { organizationId, ...(await newProject.read(c)) }
    const project = await audited(c.var, (tx) => createProject(tx, wanted), projectEntry)
    return c.json(projectDocument.of(project), 201, {
      location: `/designer/v2/projects/${project.id}`,
    })
  })

  api.get('viewer', ['/projects/:projectId', get], async (c) =>
    c.json(projectDocument.of(await getProject(c, sql))),
  )

  for (const addRoutes of ROOMS) addRoutes(api, deps)
  const routes = api.routes()
  routes.route('/', designerBatchRoutes(deps))
  routes.route('/', limitRoutes(deps))
  for (const noun of NOUNS) routes.route('/', noun.read(resourceApi(deps)))
  return routes
}
