import type { Context } from 'hono'
import * as v from 'valibot'
import { whole } from '../../../shared/schemas.ts'
import type { ProjectKey } from '../../../platform/projects/projects.ts'
import { MEASURES } from '../../../platform/projects/release-standing.ts'
import type { Standing } from '../../../platform/projects/release-standing.ts'
import {
  compareRuns,
  endRelease,
  findLastRollback,
  findRelease,
  releaseVersion,
} from '../../../platform/projects/releases.ts'
import { DEFAULT_ROLLBACK, ROLLBACK_MAIL_MAX } from '../../../platform/projects/rollback-rules.ts'
import type { RollbackRule } from '../../../platform/projects/rollback-rules.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { releaseEndedEntry, releaseEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import * as s from '../openapi/parts.ts'
import { jsonBody, operation } from '../openapi/operation.ts'
import { getProject } from './requests.ts'

const PATH = '/projects/:projectId/release'
const margin = (most: number, without: number | null) =>
  v.optional(v.nullable(whole(0, most)), without)

/** When a share is taken back without a person. */
const rollbackBody = v.strictObject({
  failure_points: margin(100, DEFAULT_ROLLBACK.failurePoints),
  cost_percent: margin(300, DEFAULT_ROLLBACK.costPercent),
  rating_points: margin(100, DEFAULT_ROLLBACK.ratingPoints),
  score_points: margin(100, DEFAULT_ROLLBACK.scorePoints),
  error_percent: v.optional(whole(1, 20), DEFAULT_ROLLBACK.errorPercent),
  mail: v.optional(
    v.pipe(
      v.array(v.string('must be a text'), 'must be a list of texts'),
      v.maxLength(ROLLBACK_MAIL_MAX, `must have at most ${ROLLBACK_MAIL_MAX} addresses`),
    ),
    [],
  ),
})

/** The body that gives a version its share. */
const releaseBody = jsonBody(
  'ReleaseRequest',
  v.strictObject({
    version: whole(1, 2 ** 31 - 1),
    percent: v.optional(whole(1, 100), 100),
    sticky_input: v.optional(v.nullable(v.string('must be a text')), null),
    rollback: v.optional(v.nullable(rollbackBody), {}),
  }),
  {
    example: { version: 7, percent: 10, sticky_input: 'customer' },
    description:
      'The share of the calls that a version takes. `sticky_input` names the input by whose ' +
      'value calls are chosen, so that equal ones get the same version; null: the ' +
      'Idempotency-Key or, without one, chance. `rollback` says by how much the version may be ' +
      'worse before the share is taken back without a person; null: it never is.',
  },
)

/** Reads when a share is taken back. */
const toRollbackRule = (body: v.InferOutput<typeof rollbackBody>): RollbackRule => ({
  failurePoints: body.failure_points,
  costPercent: body.cost_percent,
  ratingPoints: body.rating_points,
  scorePoints: body.score_points,
  errorPercent: body.error_percent,
  mail: body.mail,
})

const perhapsInteger = s.nullable('integer')
const rollbackFields = {
  failure_points: perhapsInteger,
  cost_percent: perhapsInteger,
  rating_points: perhapsInteger,
  score_points: perhapsInteger,
  error_percent: s.integer,
  mail: s.list(s.text),
}
const sideFound = s.closed({ runs: s.integer, value: s.nullable('number') })
const test = s.closed({
  runs: s.closed({ running: s.integer, new: s.integer }),
  measures: s.list(
    s.closed({
      measure: s.words(MEASURES),
      running: sideFound,
      new: sideFound,
      worse_by: s.closed({ low: s.number, high: s.number }),
      allowed: s.integer,
    }),
  ),
})
const TESTED =
  'What the last look found, in percentage points, or percent of the cost of a typical run; ' +
  'null: none yet. The share is taken back once `worse_by.low` is above `allowed`.'
const comparedFields = {
  version: s.integer,
  runs: s.integer,
  ended: s.integer,
  failed: s.integer,
  median_seconds: s.nullable('number'),
  mean_tokens: s.nullable('number'),
}
const release = s.document('Release', {
  running_version: s.say(perhapsInteger, 'Null: the project has no automation.'),
  shared: s.orNull(
    s.closed({
      version: s.integer,
      percent: s.integer,
      sticky_input: s.perhapsText,
      started_at: s.moment,
      rollback: s.orNull(s.closed(rollbackFields)),
      test: s.orNull(test, TESTED),
      runs: s.list(s.closed(comparedFields)),
    }),
    'The version that takes a share, and what became of the calls since, by version.',
  ),
  last_rollback: s.orNull(
    s.closed({
      version: s.integer,
      running_version: s.integer,
      percent: s.integer,
      at: s.moment,
      text: s.text,
      test,
      worst_runs: s.list(s.closed({ kickoff_id: s.uuid, automation_id: s.uuid })),
    }),
    'The last version whose share was taken back without a person.',
  ),
})

const get = operation('getRelease', 'Which version the automations of a project run', {
  200: release,
})
const set = operation('releaseVersion', 'Give a published version all calls, or a share of them', {
  body: releaseBody,
  200: ['It is what runs from the next call on.', release],
  409: 'The version cannot run: a draft, a source, or it has all other calls.',
})
const end = operation('endRelease', 'Take the share of a version back', {
  204: 'No version has a share.',
})

const toStandingDocument = ({ runs, measures }: Standing) => ({
  runs,
  measures: measures.map(({ measure, of, low, high, margin: allowed }) => ({
    measure,
    running: of.running,
    new: of.new,
    worse_by: { low, high },
    allowed,
  })),
})

/** What takes the calls, what became of them, and what was taken back last. */
async function releaseDocument(sql: Queryable, key: ProjectKey) {
  const release = await findRelease(sql, key)
  const { running, shared } = release
  const compared = await compareRuns(sql, key, release)
  const last = await findLastRollback(sql, key)
  return {
    running_version: running,
    shared: shared && {
      version: shared.number,
      percent: shared.percent,
      sticky_input: shared.stickyInput,
      started_at: shared.startedAt,
      rollback: shared.rollback && s.pickOf(rollbackFields)(shared.rollback),
      test: shared.rollback && shared.standing && toStandingDocument(shared.standing),
      runs: compared.map(({ number: version, tokens: meanTokens, ...counts }) =>
        s.pickOf(comparedFields)({ version, meanTokens, ...counts }),
      ),
    },
    last_rollback: last
      ? {
          version: last.number,
          running_version: last.running,
          percent: last.percent,
          at: last.at,
          text: last.text,
          test: toStandingDocument(last.standing),
          worst_runs: last.runs,
        }
      : null,
  }
}

/** What the automations of a project run, and which version takes a share of the calls. */
export function designerReleaseRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  const audited = createAudited(sql)

  async function readKey(c: Context<OrganizationCall>): Promise<ProjectKey> {
    const { id: projectId } = await getProject(c, sql)
    return { organizationId: c.var.caller.organizationId, projectId }
  }

  api.get('viewer', [PATH, get], async (c) => c.json(await releaseDocument(sql, await readKey(c))))

  api.put('editor', [PATH, set], async (c) => {
    const key = await readKey(c)
    const body = await releaseBody.read(c)
    const rollback = body.rollback && toRollbackRule(body.rollback)
    const share = { percent: body.percent, stickyInput: body.sticky_input, rollback }
    const version = { ...key, number: body.version }
    await audited(c.var, (tx) => releaseVersion(tx, version, share), releaseEntry(version, share))
    return c.json(await releaseDocument(sql, key))
  })

  api.delete('editor', [PATH, end], async (c) => {
    const key = await readKey(c)
    await audited(
      c.var,
      (tx) => endRelease(tx, key),
      (isDone) => (isDone ? releaseEndedEntry(key) : undefined),
    )
    return c.body(null, 204)
  })
}
