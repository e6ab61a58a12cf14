import { Hono } from 'hono'
import type { Context } from 'hono'
import { normalizeToolName } from '../../../platform/tools/python-packages.ts'
import {
  findTool,
  listToolNames,
  listTools,
  readToolContent,
} from '../../../platform/tools/tools.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import { createForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { streamParts } from '../../http/stream-parts.ts'
import { listPublic, publicFileRoutes } from './upstream/routes.ts'
import { createPublicIndex } from './upstream/public-index.ts'
import type { PublicIndex } from './upstream/public-index.ts'
import { organizationScope, publicScope } from './scopes.ts'
import type { Scope, ShownRepository } from './scopes.ts'
import {
  chooseType,
  filesHtml,
  filesJson,
  JSON_TYPE,
  namesHtml,
  namesJson,
} from './simple-index.ts'
import type { IndexedFile } from './simple-index.ts'
import { toolOperations } from './operations.ts'
import { toolUploadRoutes } from './upload-routes.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/**
 * Mounts the tools index (SPEC 2.3) for pip and other installers: the public tools, and those of an
 * organization.
 */
export function toolsIndexRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const routes = new Hono<OrganizationCall>()
  const upstream = openPublicIndex(deps)
  for (const scope of [publicScope(deps), organizationScope(deps)]) {
    // What everybody reads without a token would let everybody fill it.
    const behind = scope.isPublic ? undefined : upstream
    routes.route('/', indexRoutes(deps, scope, behind))
    if (!scope.isPublic) routes.route('/', publicFileRoutes(deps, scope, behind))
    routes.route('/', toolUploadRoutes(deps, scope))
  }
  return routes
}

function openPublicIndex({ config, sql, log }: WebDeps): PublicIndex | undefined {
  const { TOOLS_UPSTREAM: url, TOOLS_UPSTREAM_CACHE_MAX: bytesMax } = config
  const privateOrigins = config.TOOLS_UPSTREAM_PRIVATE_ORIGINS
  if (url === undefined) return undefined
  const proxy = createForwardProxy(config)
  const { TOOLS_UPSTREAM_USERNAME: username, TOOLS_UPSTREAM_PASSWORD: password } = config
  const credential = password === undefined ? undefined : { username, password }
  return createPublicIndex({ sql, url, credential, privateOrigins, proxy, bytesMax, log })
}

function indexRoutes(
  { sql }: WebDeps,
  scope: Scope,
  upstream: PublicIndex | undefined,
): Hono<OrganizationCall> {
  const routes = new Hono<OrganizationCall>()
  const { path, read, shown } = scope
  const operations = toolOperations(scope)
  const mark = (name: keyof typeof operations) =>
    declareRight(scope.isPublic ? 'anybody' : 'token', operations[name])

  routes.get(`${path}/simple/`, mark('listTools'), read, async (c) => {
    const repositories = await shown(c)
    const names = await listToolNames(
      sql,
      repositories.map(({ id }) => id),
    )
    return answer(c, { html: () => namesHtml(names), json: () => namesJson(names) })
  })
  routes.all(`${path}/simple/`, read, refuseMethod('GET, HEAD'))
  routes.get(`${path}/simple`, mark('findTools'), read, (c) => c.redirect(`${path}/simple/`, 301))

  routes.get(`${path}/simple/:name/`, mark('listFiles'), read, async (c) => {
    const name = normalizeToolName(c.req.param('name'))
    // PEP 503: one address for all spellings of a name.
    if (name !== c.req.param('name')) return redirectToTool(c, scope, name)
    const own = await readFiles(sql, await shown(c), name)
    const files = own.length === 0 && upstream ? await listPublic(upstream, c, name) : own
    if (files.length === 0) throw new AppError('not_found', 'There is no tool of that name.')
    return answer(c, { html: () => filesHtml(name, files), json: () => filesJson(name, files) })
  })
  routes.all(`${path}/simple/:name/`, read, refuseMethod('GET, HEAD'))
  routes.get(`${path}/simple/:name`, mark('findTool'), read, (c) =>
    redirectToTool(c, scope, normalizeToolName(c.req.param('name'))),
  )

  routes.get(`${path}/files/:filename`, mark('download'), read, async (c) => {
    const repositoryId = await scope.own(c)
    const filename = c.req.param('filename')
    const tool = repositoryId && (await findTool(sql, { repositoryId, filename }))
    if (!tool) throw new AppError('not_found', 'This repository has no such file.')
    return c.body(streamParts(readToolContent(sql, tool)), 200, {
      'content-type': 'application/octet-stream',
      'content-length': String(tool.size),
      // A file never changes.
      'cache-control': `${scope.isPublic ? 'public' : 'private'}, max-age=31536000, immutable`,
    })
  })
  routes.all(`${path}/files/:filename`, read, refuseMethod('GET, HEAD'))

  return routes
}

async function readFiles(
  sql: Database,
  repositories: readonly ShownRepository[],
  name: string,
): Promise<IndexedFile[]> {
  for (const { id, filesUrl } of repositories) {
    const tools = await listTools(sql, id, name)
    if (tools.length > 0) {
      return tools.map((tool) => ({
        ...tool,
        url: filesUrl + encodeURIComponent(tool.filename),
        metadataSha256: null,
      }))
    }
  }
  return []
}

function redirectToTool(c: Context, { path }: Scope, name: string): Response {
  return c.redirect(`${path}/simple/${encodeURIComponent(name)}/`, 301)
}

interface Representations {
  readonly html: () => string | Promise<string>
  readonly json: () => object
}

/** Responds in the form that the client likes best (PEP 691). */
async function answer(c: Context, { html, json }: Representations): Promise<Response> {
  const type = chooseType(c.req.header('accept'))
  const body = type === JSON_TYPE ? JSON.stringify(json()) : await html()
  return c.body(body, 200, {
    'content-type': type === JSON_TYPE ? type : `${type}; charset=utf-8`,
    vary: 'Accept',
  })
}
