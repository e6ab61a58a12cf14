import { Hono } from 'hono'
import type { Context } from 'hono'
import { normalizeToolName, parseToolFilename } from '../../../../platform/tools/python-packages.ts'
import { listTools } from '../../../../platform/tools/tools.ts'
import { AppError } from '../../../../shared/errors.ts'
import type { OrganizationCall, WebDeps } from '../../../context.ts'
import { refuseMethod } from '../../../http/refuse-method.ts'
import { streamParts } from '../../../http/stream-parts.ts'
import { declareRight } from '../../../gate/callers/declared-right.ts'
import { toolOperations } from '../operations.ts'
import type { Scope } from '../scopes.ts'
import type { IndexedFile } from '../simple-index.ts'
import type { PublicIndex } from './public-index.ts'

const SHA256 = /^[0-9a-f]{64}$/
/** The platform alone has it, even before set-up has published it. */
const ADAPTER = 'crew-runtime'

const subjectOf = (c: Context<OrganizationCall>): string =>
  `organization ${c.var.caller.organizationId}`

/** Returns the files of a name that the public index has, with their addresses here. */
export async function listPublic(
  index: PublicIndex,
  c: Context<OrganizationCall>,
  name: string,
): Promise<IndexedFile[]> {
  if (name === ADAPTER) return []
  const files = await index.list(name, subjectOf(c))
  return files.map((file) => ({
    ...file,
    version: parseToolFilename(file.filename)?.version ?? '',
    sha256: Buffer.from(file.sha256, 'hex'),
    url: `../../upstream/${name}/${file.sha256}/${encodeURIComponent(file.filename)}`,
    createdAt: file.uploadedAt,
  }))
}

/** Mounts the files of the public index; those of a name that is shown by itself are not there. */
export function publicFileRoutes(
  { sql }: WebDeps,
  scope: Scope,
  index: PublicIndex | undefined,
): Hono<OrganizationCall> {
  const routes = new Hono<OrganizationCall>()
  const { path, read, shown } = scope
  const mark = declareRight('token', toolOperations(scope).downloadUpstream)

  routes.get(`${path}/upstream/:name/:sha256/:filename`, mark, read, async (c) => {
    const { sha256, filename } = c.req.param()
    const name = normalizeToolName(c.req.param('name'))
    if (!index || !SHA256.test(sha256) || name === ADAPTER) throw noFile()
    for (const { id } of await shown(c)) {
      if ((await listTools(sql, id, name)).length > 0) throw noFile()
    }
    const { size, parts } = await index.open({ name, sha256, filename }, subjectOf(c))
    return c.body(streamParts(parts), 200, {
      'content-type': 'application/octet-stream',
      ...(size === undefined ? {} : { 'content-length': String(size) }),
      // A SHA-256 stands for one file.
      'cache-control': 'private, max-age=31536000, immutable',
    })
  })
  routes.all(`${path}/upstream/:name/:sha256/:filename`, read, refuseMethod('GET, HEAD'))

  return routes
}

const noFile = (): AppError => new AppError('not_found', 'This repository has no such file.')
