import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import { whole } from '../../../shared/whole.ts'
import type { ProjectKey } from '../../../platform/projects/projects.ts'
import { findProject } from '../../../platform/projects/projects.ts'
import {
  compareRuns,
  endRelease,
  findRelease,
  releaseVersion,
} from '../../../platform/projects/releases.ts'
import { AppError } from '../../../shared/errors.ts'
import { releaseEndedEntry, releaseEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { parseBody } from '../../http/parse-body.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { readNumber, readRunBody } from './requests.ts'

const PATH = '/projects/:projectId/release'
/** The body that gives a version its share. */
export const releaseBody = v.strictObject({
  version: whole(1, 2 ** 31 - 1),
  percent: v.optional(whole(1, 100), 100),
  sticky_input: v.optional(v.nullable(v.string('must be a text')), null),
})

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

  async function document(key: ProjectKey) {
    const release = await findRelease(sql, key)
    const { running, shared } = release
    const compared = await compareRuns(sql, key, release)
    return {
      running_version: running,
      shared: shared && {
        version: shared.number,
        percent: shared.percent,
        sticky_input: shared.stickyInput,
        started_at: shared.startedAt,
        runs: compared.map(({ number, medianSeconds, tokens, ...counts }) => ({
          version: number,
          ...counts,
          median_seconds: medianSeconds,
          mean_tokens: tokens,
        })),
      },
    }
  }

  api.get('viewer', PATH, async (c) => c.json(await document(await readKey(c))))

  api.put('editor', PATH, async (c) => {
    const key = await readKey(c)
    const body = parseBody(releaseBody, await readRunBody(c))
    const share = { percent: body.percent, stickyInput: body.sticky_input }
    const version = { ...key, number: body.version }
    await audited(c.var, (tx) => releaseVersion(tx, version, share), releaseEntry(version, share))
    return c.json(await document(key))
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
