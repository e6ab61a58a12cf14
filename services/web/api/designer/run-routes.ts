import type { Context } from 'hono'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { findRunRecord, listRunRecords } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import { ensureProjectAutomation } from '../../../platform/projects/project-automations.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { operation } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { runDocument, runSummary } from './documents.ts'
import { findRuns, queryParameter } from './find-runs.ts'
import { getProject, paged, pagesOf, readUuidPage } from './requests.ts'
import { kickoffBody, readIdempotencyKey } from '../automation/kickoff-request.ts'

const runs = pagesOf(['RunList', 'executions'], runSummary, ({ id }) => id)
const filtered = { ...paged, parameters: [queryParameter, ...paged.parameters] }
const list = operation('listRuns', 'The runs of the organization, newest first', {
  ...filtered,
  200: runs,
})
const get = operation('getRun', 'A run with its inputs and its output', { 200: runDocument })
const listOfProject = operation('listProjectRuns', 'The runs of a project, newest first', {
  ...filtered,
  200: runs,
})
const run = operation('runProject', 'Run the published version of a project', {
  parameters: [s.idempotencyKey],
  body: kickoffBody,
  202: ['The run is queued, durably.', runDocument, s.location('Where it is.')],
  400: 'The body is not JSON, or the Idempotency-Key is malformed.',
  409: 'Nothing is published, or there is no Runner.',
})

/** The runs of an organization, and of one project, which is run here. */
export function designerRunRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const ofProject = '/projects/:projectId/executions'

  api.get('viewer', ['/executions', list], async (c) => c.json(await readList(c, sql)))

  api.get('viewer', ['/executions/:kickoffId', get], async (c) =>
    c.json(runDocument.of(await getRun(c, sql, c.req.param('kickoffId') ?? ''))),
  )

  api.get('viewer', [ofProject, listOfProject], async (c) => {
    const { id: projectId } = await getProject(c, sql)
    return c.json(await readList(c, sql, projectId))
  })

  api.post('editor', [ofProject, run], async (c) => {
    const project = await getProject(c, sql)
    const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
    const { inputs: given } = await kickoffBody.read(c)
    const automation = await getAutomation(c, sql, project)
    const definition = await getDefinition(sql, automation)
    const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
    const starter = toStarter(c.var.actor, 'designer')
    const admit = deps.queue.of(automation.organizationId)
    const request = { deploymentId: automation.id, ...prepared, idempotencyKey, starter, admit }
    const id = await kickoff(sql, request)
    c.var.wide['kickoff_id'] = id
    const location = `/designer/v2/executions/${id}`
    return c.json(runDocument.of(await getRun(c, sql, id)), 202, { location })
  })
}

async function readList(c: Context<OrganizationCall>, sql: Database, projectId?: number) {
  const { organizationId } = c.var.caller
  const found = await findRuns(c, sql, { organizationId, ...(projectId && { projectId }) })
  if (found) return runs.of(found.rows, found.next)
  return runs.read(readUuidPage(c), ({ limit, cursor: after }) =>
    listRunRecords(sql, { organizationId, projectId, after, limit }),
  )
}

async function getRun(c: Context<OrganizationCall>, sql: Database, id: string): Promise<RunRecord> {
  const { organizationId } = c.var.caller
  const run = await findRunRecord(sql, { organizationId, id })
  if (run) return run
  throw new AppError('not_found', 'Your organization has no such run.')
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
