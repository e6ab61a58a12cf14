import { Hono } from 'hono'
import { listAuthorizationServers } from '../../../platform/automations/automation-oauth.ts'
import { RESOURCE_METADATA_PATH } from './challenge.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { describing } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'

const uri = { ...s.text, format: 'uri' }
const resource = s.named('ProtectedResource', {
  type: 'object',
  required: ['resource', 'resource_name', 'bearer_methods_supported'],
  properties: {
    resource: uri,
    resource_name: s.text,
    authorization_servers: s.say(s.list(uri), 'Absent unless all organizations use the same one.'),
    scopes_supported: s.list(s.text),
    bearer_methods_supported: s.list(s.text),
  },
})
const describeResource = describing({ tag: 'Platform' })(
  'describeResource',
  'Where clients get access tokens for the automation API (RFC 9728)',
  { 200: ['What is known of it.', resource, s.cached] },
)

/**
 * The metadata of the automation API as a protected resource (RFC 9728). The authorization server
 * is named when all organizations use the same one; else it would tell who the tenants are.
 */
export function resourceMetadataRoutes({ config, sql }: WebDeps): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  routes.get(RESOURCE_METADATA_PATH, declareRight('anybody', describeResource), async (c) => {
    const [server, ...others] = await listAuthorizationServers(sql)
    const isOne = server !== undefined && others.length === 0
    c.header('cache-control', 'public, max-age=300')
    return c.json({
      resource: config.PLATFORM_BASE_URL,
      resource_name: 'Automation API',
      ...(isOne
        ? { authorization_servers: [server.issuer], scopes_supported: [server.scope] }
        : {}),
      bearer_methods_supported: ['header'],
    })
  })
  return routes
}
