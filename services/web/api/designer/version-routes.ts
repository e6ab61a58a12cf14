import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import {
  OVERRIDE_REASON_MAX,
  publishThroughGates,
  refusalOf,
} from '../../../platform/evaluations/publish-through-gates.ts'
import type { Verdict } from '../../../platform/evaluations/publish-through-gates.ts'
import {
  createVersion,
  findVersion,
  listVersions,
  pinDraft,
  updateDraft,
} from '../../../platform/projects/project-versions.ts'
import type { ProjectKey, VersionKey } from '../../../platform/projects/projects.ts'
import { findProject } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { publicationEntry, versionEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { versionDocument, versionSummary } from './documents.ts'
import {
  readDefinition,
  readNumber,
  readNumberPage,
  readPercent,
  readRunBody,
  toPage,
} from './requests.ts'
import { parseBody } from '../../http/parse-body.ts'
import { createPins } from '../../intake/tool-pins/create-pins.ts'

/** Why the gates of an automation do not count for a version. */
export const overrideBody = v.strictObject({
  reason: v.pipe(
    v.string('must be a text'),
    v.trim(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(OVERRIDE_REASON_MAX, `must have at most ${OVERRIDE_REASON_MAX} characters`),
  ),
})

const NUMBER_MAX = 2 ** 31 - 1

/** The versions of a project: drafts that can be changed until they are published. */
export function designerVersionRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const list = '/projects/:projectId/versions'
  const one = `${list}/:number`

  api.get('viewer', list, async (c) => {
    const key = projectKey(c)
    const page = readNumberPage(c)
    const { limit, cursor: before = NUMBER_MAX } = page
    const versions = await listVersions(sql, key, { before, limit: limit + 1 })
    if (versions.length === 0 && !(await findProject(sql, { ...key, id: key.projectId }))) {
      throw new AppError('not_found', 'Your organization has no such project.')
    }
    const { items, next_cursor } = toPage(versions, page, {
      show: versionSummary,
      cursorOf: ({ number }) => number,
    })
    return c.json({ versions: items, next_cursor })
  })

  api.post('editor', list, async (c) => {
    const key = projectKey(c)
    const definition = await readDefinition(c)
    const version = await audited(
      c.var,
      (tx) => createVersion(tx, key, definition),
      (created) => versionEntry('version_created', created),
    )
    const { number } = version
    const location = `/designer/v2/projects/${key.projectId}/versions/${number}`
    return c.json(versionDocument(version), 201, { location })
  })

  api.get('viewer', one, async (c) => {
    const version = await findVersion(sql, versionKey(c))
    if (!version) throw new AppError('not_found', 'This project has no such version.')
    return c.json(versionDocument(version))
  })

  api.put('editor', one, async (c) => {
    const key = versionKey(c)
    const definition = await readDefinition(c)
    const entry = versionEntry('version_changed', key)
    const version = await audited(c.var, (tx) => updateDraft(tx, key, { definition }), entry)
    return c.json(versionDocument(version))
  })

  const routes = api.routes()
  routes.route('/', publishRoutes(deps, `${one}/publish`))
  return routes
}

function publishRoutes(deps: WebDeps, path: string): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)
  const pinOf = createPins(deps)

  async function publish(c: Context<OrganizationCall>, override?: string): Promise<Response> {
    const key = versionKey(c)
    const share = { percent: readPercent(c), stickyInput: null }
    const draft = await pinDraft(sql, key, pinOf(key.organizationId))
    const how = { share, override, createdBy: c.var.actor.name }
    const published = await audited(
      c.var,
      (tx) => publishThroughGates(tx, draft, how),
      (result) => publicationEntry(key, result, override),
    )
    if ('version' in published) return c.json(versionDocument(published.version))
    const { verdicts } = published
    const gates = verdicts.map(verdictDocument)
    if (!verdicts.some(({ state }) => state === 'refused')) {
      return c.json({ state: 'pending', gates }, 202, { 'retry-after': '10' })
    }
    throw new AppError('conflict', refusalOf(verdicts), { details: { gates } })
  }

  api.post('editor', path, (c) => publish(c))

  api.post('admin', `${path}/override`, async (c) => {
    if (c.var.caller.userId === null) {
      throw new AppError('forbidden', 'An admin who is signed in overrides gates, and no token.')
    }
    if (!(await findVersion(sql, versionKey(c)))) {
      throw new AppError('not_found', 'This project has no such version.')
    }
    return publish(c, parseBody(overrideBody, await readRunBody(c)).reason)
  })

  return api.routes()
}

const verdictDocument = ({ set, automationId, evaluationId, state, reason, cases }: Verdict) => ({
  set,
  state: state === 'started' ? 'pending' : state,
  reason,
  evaluation_id: evaluationId,
  evaluation:
    evaluationId && `/designer/v2/automations/${automationId}/evaluations/${evaluationId}`,
  cases: cases.map(({ caseId, name, reason: why }) => ({ case_id: caseId, name, reason: why })),
})

function projectKey(c: Context<OrganizationCall>): ProjectKey {
  const { organizationId } = c.var.caller
  return { organizationId, projectId: readNumber(c, 'projectId') }
}

const versionKey = (c: Context<OrganizationCall>): VersionKey => ({
  ...projectKey(c),
  number: readNumber(c, 'number'),
})
