import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import { whole } from '../../../shared/whole.ts'
import type { ProjectKey } from '../../../platform/projects/projects.ts'
import { findProject } from '../../../platform/projects/projects.ts'
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
import { AppError } from '../../../shared/errors.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { releaseEndedEntry, releaseEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { parseBody } from '../../http/parse-body.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { readNumber, readRunBody } from './requests.ts'

const PATH = '/projects/:projectId/release'
const margin = (most: number, without: number | null) =>
  v.optional(v.nullable(whole(0, most)), without)

/** When a share is taken back without a person. */
const rollbackBody = v.strictObject({
  failure_points: margin(100, DEFAULT_ROLLBACK.failurePoints),
  cost_percent: margin(300, DEFAULT_ROLLBACK.costPercent),
  rating_points: margin(100, DEFAULT_ROLLBACK.ratingPoints),
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
export const releaseBody = v.strictObject({
  version: whole(1, 2 ** 31 - 1),
  percent: v.optional(whole(1, 100), 100),
  sticky_input: v.optional(v.nullable(v.string('must be a text')), null),
  rollback: v.optional(v.nullable(rollbackBody), {}),
})

/** Reads when a share is taken back. */
const toRollbackRule = (body: v.InferOutput<typeof rollbackBody>): RollbackRule => ({
  failurePoints: body.failure_points,
  costPercent: body.cost_percent,
  ratingPoints: body.rating_points,
  errorPercent: body.error_percent,
  mail: body.mail,
})

const toRollbackDocument = (rule: RollbackRule) => ({
  failure_points: rule.failurePoints,
  cost_percent: rule.costPercent,
  rating_points: rule.ratingPoints,
  error_percent: rule.errorPercent,
  mail: rule.mail,
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
      rollback: shared.rollback && toRollbackDocument(shared.rollback),
      test: shared.rollback && shared.standing && toStandingDocument(shared.standing),
      runs: compared.map(({ number, medianSeconds, tokens, ...counts }) => ({
        version: number,
        ...counts,
        median_seconds: medianSeconds,
        mean_tokens: tokens,
      })),
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
export function designerReleaseRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const api = createApi(deps)

  async function readKey(c: Context<OrganizationCall>): Promise<ProjectKey> {
    const { organizationId } = c.var.caller
    const projectId = readNumber(c, 'projectId')
    if (await findProject(sql, { organizationId, id: projectId }))
      return { organizationId, projectId }
    throw new AppError('not_found', 'Your organization has no such project.')
  }

  api.get('viewer', PATH, async (c) => c.json(await releaseDocument(sql, await readKey(c))))

  api.put('editor', PATH, async (c) => {
    const key = await readKey(c)
    const body = parseBody(releaseBody, await readRunBody(c))
    const rollback = body.rollback && toRollbackRule(body.rollback)
    const share = { percent: body.percent, stickyInput: body.sticky_input, rollback }
    const version = { ...key, number: body.version }
    await audited(c.var, (tx) => releaseVersion(tx, version, share), releaseEntry(version, share))
    return c.json(await releaseDocument(sql, key))
  })

  api.delete('editor', PATH, async (c) => {
    const key = await readKey(c)
    await audited(
      c.var,
      (tx) => endRelease(tx, key),
      (isDone) => (isDone ? releaseEndedEntry(key) : undefined),
    )
    return c.body(null, 204)
  })
  return api.routes()
}
