import type { Context, Hono } from 'hono'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { findRunRecord, listRunRecords } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import { ensureProjectAutomation } from '../../../platform/projects/project-automations.ts'
import { findProject } from '../../../platform/projects/projects.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { runDocument, runSummary } from './documents.ts'
import { readNumber, readRunBody, readUuidPage, toPage } from './requests.ts'
import { readIdempotencyKey, readKickoff } from '../automation/kickoff-request.ts'

/** The runs of an organization, and of one project, which is run here. */
export function designerRunRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const ofProject = '/projects/:projectId/executions'

  api.get('viewer', '/executions', async (c) => c.json(await readList(c, sql)))

  api.get('viewer', '/executions/:kickoffId', async (c) =>
    c.json(runDocument(await getRun(c, sql, c.req.param('kickoffId') ?? ''))),
  )

  api.get('viewer', ofProject, async (c) => {
    const { id: projectId } = await getProject(c, sql)
    return c.json(await readList(c, sql, projectId))
  })

  api.post('editor', ofProject, async (c) => {
    const project = await getProject(c, sql)
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const given = readKickoff(await readRunBody(c))
    const automation = await getAutomation(c, sql, project)
    const definition = await getDefinition(sql, automation)
    const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
    const starter = toStarter(c.var.actor, 'designer')
    const admit = deps.queue.of(automation.organizationId)
    const request = { deploymentId: automation.id, ...prepared, idempotencyKey, starter, admit }
    const id = await kickoff(sql, request)
    c.var.wide['kickoff_id'] = id
    const location = `/designer/v2/executions/${id}`
    return c.json(runDocument(await getRun(c, sql, id)), 202, { location })
  })

  return api.routes()
}

async function readList(c: Context<OrganizationCall>, sql: Database, projectId?: number) {
  const { organizationId } = c.var.caller
  const page = readUuidPage(c)
  const { limit, cursor: after } = page
  const range = { organizationId, projectId, after, limit: limit + 1 }
  const { items, next_cursor } = toPage(await listRunRecords(sql, range), page, {
    show: runSummary,
    cursorOf: ({ id }) => id,
  })
  return { executions: items, next_cursor }
}

async function getProject(c: Context<OrganizationCall>, sql: Database): Promise<Project> {
  const id = readNumber(c, 'projectId')
  const project = await findProject(sql, { organizationId: c.var.caller.organizationId, id })
  return project ?? notFound('Your organization has no such project.')
}

async function getRun(c: Context<OrganizationCall>, sql: Database, id: string): Promise<RunRecord> {
  const { organizationId } = c.var.caller
  const run = await findRunRecord(sql, { organizationId, id })
  return run ?? notFound('Your organization has no such run.')
}

async function getAutomation(c: Context<OrganizationCall>, sql: Database, project: Project) {
  if (project.publishedVersion === null) {
    throw new AppError('conflict', 'This project has no published version. Publish one first.')
  }
  const { organizationId } = c.var.caller
  const automation = await ensureProjectAutomation(sql, { organizationId, projectId: project.id })
  if (automation) return automation
  throw new AppError(
    'conflict',
    'Nothing can run this project: it has no crew of its own, and the Runner is not ' +
      'installed. An administrator installs it with the task designer:runner:install.',
  )
}

function notFound(message: string): never {
  throw new AppError('not_found', message)
}
