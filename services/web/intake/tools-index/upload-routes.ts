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
import { declareRight } from '../../gate/callers/declared-right.ts'
import { toolOperations } from './operations.ts'
import type { Scope } from './scopes.ts'
import { readUpload } from './upload-form.ts'
import {
  canonicalVersion,
  isToolName,
  isVersionSpecifier,
  normalizeToolName,
  parseToolFilename,
} from '../../../platform/tools/python-packages.ts'
import type { ToolDescription } from '../../../platform/tools/tool-uploads.ts'
import type { UploadFields } from './upload-form.ts'

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

  const { upload, uploadTo, yank: yanks, unyank } = toolOperations(scope)
  for (const operation of [upload, uploadTo]) {
    const path = operation === upload ? scope.path : `${scope.path}/`
    routes.post(path, declareRight('token', operation), authenticate, async (c) => {
      const outcome = await store(c, await written(c))
      return c.json({ status: outcome })
    })
    routes.all(path, authenticate, refuseMethod('POST'))
  }

  const yanked = `${scope.path}/files/:filename/yanked`
  routes.put(yanked, declareRight('token', yanks), authenticate, async (c) => {
    const result = v.safeParse(yankBody, await readJson(c.req.raw, BODY_BYTES_MAX))
    if (!result.success) {
      throw new AppError(
        'unprocessable',
        'The body is {"reason": "…"}: one line of at most 200 characters, which may be missing.',
      )
    }
    return yank(c, result.output.reason)
  })
  routes.delete(yanked, declareRight('token', unyank), authenticate, (c) => yank(c, null))
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

/** Reads the description of an uploaded file. Raises `unprocessable` with all mistakes. */
function describeUpload(fields: UploadFields, filename: string): ToolDescription {
  const field = (name: string): string => fields.get(name)?.trim() ?? ''
  const [name, version] = [field('name'), field('version')]
  const requiresPython = field('requires_python') || null
  const sha256 = field('sha256_digest').toLowerCase()
  const problems = [
    field(':action') === 'file_upload' ? '' : ':action must be file_upload',
    isToolName(name) ? '' : 'name must be the name of a Python package',
    canonicalVersion(version) === undefined ? 'version must be a version as PEP 440 has it' : '',
    filenameProblem(filename, { name, version }),
    /^[0-9a-f]{64}$/.test(sha256) ? '' : 'sha256_digest must have 64 hexadecimal digits',
    requiresPython === null || isVersionSpecifier(requiresPython)
      ? ''
      : 'requires_python must be a version specifier such as >=3.10',
  ].filter(Boolean)
  if (problems.length > 0) {
    throw new AppError('unprocessable', `The upload is not valid: ${problems.join('; ')}.`, {
      details: { problems },
    })
  }
  return { name, version, filename, requiresPython, sha256: Buffer.from(sha256, 'hex') }
}

function filenameProblem(filename: string, told: { name: string; version: string }): string {
  const parsed = parseToolFilename(filename)
  if (!parsed) return 'the file must be a wheel (.whl) or a source archive (.tar.gz, .zip)'
  const isSame =
    normalizeToolName(parsed.name) === normalizeToolName(told.name) &&
    canonicalVersion(parsed.version.replaceAll('_', '-')) === canonicalVersion(told.version)
  return isSame ? '' : 'the name of the file must be that of the package and the version'
}
