import { Hono } from 'hono'
import type { Context } from 'hono'
import * as v from 'valibot'
import { isYankReason, setYanked } from '../../../platform/tools/tools.ts'
import { uploadTool } from '../../../platform/tools/tool-uploads.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { limitConcurrency } from '../../http/limit-concurrency.ts'
import { toolEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireOrganizationToken } from '../../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { describeUpload } from './describe-upload.ts'
import type { Scope } from './scopes.ts'
import { readUpload } from './upload-form.ts'

/** Each holds a database connection for as long as its sender takes. */
const UPLOADS = {
  concurrent: 2,
  waitingMax: 8,
  busy: 'Too many uploads are in progress. Try again in a moment.',
}
const BODY_BYTES_MAX = 4096
const yankBody = v.strictObject({
  reason: v.optional(v.pipe(v.string(), v.check(isYankReason)), ''),
})

/**
 * Mounts the upload API of PyPI, which twine and others use, and the yanking of files (PEP 592).
 */
export function toolUploadRoutes(deps: WebDeps, scope: Scope): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganizationToken(deps)
  const { written } = scope

  const store = limitConcurrency(async (c: Context<OrganizationCall>, repositoryId: number) => {
    return readUpload(c.req.raw, async ({ filename, content, fields }) => {
      const describe = async () => describeUpload(await fields(), filename)
      const uploadedBy = c.var.caller.tokenId
      const outcome = await audited(
        c.var,
        (tx) => uploadTool(tx, { repositoryId, uploadedBy, content, describe }),
        (done) => (done === 'stored' ? toolEntry('tool_uploaded', filename) : undefined),
      )
      Object.assign(c.var.wide, { filename, outcome })
      return outcome
    })
  }, UPLOADS)

  for (const path of [scope.path, `${scope.path}/`]) {
    routes.post(path, authenticate, async (c) => {
      const outcome = await store(c, await written(c))
      return c.json({ status: outcome })
    })
    routes.all(path, authenticate, refuseMethod('POST'))
  }

  const yanked = `${scope.path}/files/:filename/yanked`
  routes.put(yanked, authenticate, async (c) => {
    const result = v.safeParse(yankBody, await readJson(c.req.raw, BODY_BYTES_MAX))
    if (!result.success) {
      throw new AppError(
        'unprocessable',
        'The body is {"reason": "…"}: one line of at most 200 characters, which may be missing.',
      )
    }
    return yank(c, result.output.reason)
  })
  routes.delete(yanked, authenticate, (c) => yank(c, null))
  routes.all(yanked, authenticate, refuseMethod('PUT, DELETE'))

  async function yank(c: Context<OrganizationCall>, reason: string | null): Promise<Response> {
    const filename = c.req.param('filename') ?? ''
    const repositoryId = await written(c)
    const entry = toolEntry(reason === null ? 'tool_unyanked' : 'tool_yanked', filename)
    const change = async (tx: Transaction): Promise<void> => {
      if (await setYanked(tx, { repositoryId, filename }, reason)) return
      throw new AppError('not_found', 'This repository has no such file.')
    }
    await audited(c.var, change, { ...entry, after: { reason } })
    return c.body(null, 204)
  }

  return routes
}
