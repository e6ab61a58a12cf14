import type { Context } from 'hono'
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
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import { versionDocument, versionSummary } from './documents.ts'
import {
  paged,
  pagesOf,
  readDefinition,
  readNumber,
  readNumberPage,
  readPercent,
  versionBody,
} from './requests.ts'
import { createPins } from '../../intake/tool-pins/create-pins.ts'

/** Why the gates of an automation do not count for a version. */
const overrideBody = jsonBody(
  'OverrideRequest',
  v.strictObject({
    reason: v.pipe(
      v.string('must be a text'),
      v.trim(),
      v.minLength(1, 'must not be empty'),
      v.maxLength(OVERRIDE_REASON_MAX, `must have at most ${OVERRIDE_REASON_MAX} characters`),
    ),
  }),
  { example: { reason: 'The cases are out of date.' } },
)

const versions = pagesOf(['VersionList', 'versions'], versionSummary, ({ number }) => number)
const divergedRun = { kickoff_id: s.uuid, reason: s.text }
const failedCase = { case_id: s.uuid, name: s.perhapsText, reason: s.perhapsText }
const verdictDocument = s.document(
  'GateVerdict',
  {
    set: s.say(s.perhapsText, 'Null: it is about the newest runs.'),
    state: s.words(['passed', 'pending', 'refused']),
    reason: s.text,
    evaluation_id: s.perhapsUuid,
    evaluation: s.say(s.perhapsText, 'Its address.'),
    cases: s.list(s.closed(failedCase)),
    replay_id: s.perhapsUuid,
    replay: s.say(s.perhapsText, 'Its address.'),
    runs: s.say(s.list(s.closed(divergedRun)), 'The first runs that it performs otherwise.'),
  },
  ({ automationId, evaluationId, replayId, state, ...verdict }: Verdict) => ({
    ...verdict,
    state: state === 'started' ? 'pending' : state,
    evaluationId,
    evaluation:
      evaluationId && `/designer/v2/automations/${automationId}/evaluations/${evaluationId}`,
    replayId,
    replay: replayId && `/designer/v2/automations/${automationId}/replays/${replayId}`,
    runs: verdict.runs.map(s.pickOf(divergedRun)),
    cases: verdict.cases.map(s.pickOf(failedCase)),
  }),
)
const pending = s.document('PublicationPending', {
  state: s.words(['pending']),
  gates: s.list(verdictDocument),
})

const list = operation('listVersions', 'The versions of a project, newest first', {
  ...paged,
  200: versions,
})
const create = operation('createVersion', 'Add a draft', {
  body: versionBody,
  201: ['It is added.', versionDocument, s.location('Where it is.')],
})
const get = operation('getVersion', 'A version with its definition', { 200: versionDocument })
const change = operation('changeVersion', 'Change a draft', {
  body: versionBody,
  200: ['It is changed.', versionDocument],
  409: 'It is published and cannot change.',
})
const publish = operation(
  'publishVersion',
  'Publish a draft: its automations run it from then on',
  {
    parameters: [
      s.parameter('percent', 'query', {
        description: 'The share of the calls that it takes at first, of an automation that runs.',
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
      }),
    ],
    200: ['It is published.', versionDocument],
    202: ['It waits for its gates: publish it again later.', pending, s.retryAfter],
    400: 'percent is not valid.',
    409: 'It is published already, was changed meanwhile, or a gate refuses it: details.gates.',
    422: 'Its tools cannot be used; details.problems has each one.',
  },
)
const override = operation(
  'publishInSpiteOfGates',
  'Publish a draft in spite of its gates, as an admin',
  {
    body: overrideBody,
    200: ['It is published.', versionDocument],
    409: 'It is published already, or was changed meanwhile.',
  },
)

const NUMBER_MAX = 2 ** 31 - 1

/** The versions of a project: drafts that can be changed until they are published. */
export function designerVersionRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const path = '/projects/:projectId/versions'
  const one = `${path}/:number`

  api.get('viewer', [path, list], async (c) => {
    const key = projectKey(c)
    const page = readNumberPage(c)
    const read = versions.read(page, async ({ limit, cursor: before = NUMBER_MAX }) => {
      const found = await listVersions(sql, key, { before, limit })
      if (found.length > 0 || (await findProject(sql, { ...key, id: key.projectId }))) return found
      throw new AppError('not_found', 'Your organization has no such project.')
    })
    return c.json(await read)
  })

  api.post('editor', [path, create], async (c) => {
    const key = projectKey(c)
    const definition = await readDefinition(c)
    const version = await audited(
      c.var,
      (tx) => createVersion(tx, key, definition),
      (created) => versionEntry('version_created', created),
    )
    const { number } = version
    const location = `/designer/v2/projects/${key.projectId}/versions/${number}`
    return c.json(versionDocument.of(version), 201, { location })
  })

  api.get('viewer', [one, get], async (c) => {
    const version = await findVersion(sql, versionKey(c))
    if (!version) throw new AppError('not_found', 'This project has no such version.')
    return c.json(versionDocument.of(version))
  })

  api.put('editor', [one, change], async (c) => {
    const key = versionKey(c)
    const definition = await readDefinition(c)
    const entry = versionEntry('version_changed', key)
    const version = await audited(c.var, (tx) => updateDraft(tx, key, { definition }), entry)
    return c.json(versionDocument.of(version))
  })

  addPublishing(api, deps, `${one}/publish`)
}

function addPublishing(api: ApiRoom, deps: WebDeps, path: string): void {
  const { sql } = deps
  const audited = createAudited(sql)
  const pinOf = createPins(deps)

  async function answer(c: Context<OrganizationCall>, reason?: string): Promise<Response> {
    const key = versionKey(c)
    const share = { percent: readPercent(c), stickyInput: null }
    const draft = await pinDraft(sql, key, pinOf(key.organizationId))
    const how = { share, override: reason, createdBy: c.var.actor.name }
    const published = await audited(
      c.var,
      (tx) => publishThroughGates(tx, draft, how),
      (result) => publicationEntry(key, result, reason),
    )
    if ('version' in published) return c.json(versionDocument.of(published.version))
    const { verdicts } = published
    const gates = verdicts.map(verdictDocument.of)
    if (!verdicts.some(({ state }) => state === 'refused')) {
      return c.json({ state: 'pending', gates }, 202, { 'retry-after': '10' })
    }
    throw new AppError('conflict', refusalOf(verdicts), { details: { gates } })
  }

  api.post('editor', [path, publish], (c) => answer(c))

  api.post('admin', [`${path}/override`, override], async (c) => {
    if (c.var.caller.userId === null) {
      throw new AppError('forbidden', 'An admin who is signed in overrides gates, and no token.')
    }
    if (!(await findVersion(sql, versionKey(c)))) {
      throw new AppError('not_found', 'This project has no such version.')
    }
    return answer(c, (await overrideBody.read(c)).reason)
  })
}

function projectKey(c: Context<OrganizationCall>): ProjectKey {
  const { organizationId } = c.var.caller
  return { organizationId, projectId: readNumber(c, 'projectId') }
}

const versionKey = (c: Context<OrganizationCall>): VersionKey => ({
  ...projectKey(c),
  number: readNumber(c, 'number'),
})
