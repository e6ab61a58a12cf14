import { Hono } from 'hono'
import type { Context } from 'hono'
import * as v from 'valibot'
import { findConnection } from '../../platform/connections/oauth-connections.ts'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import type { GetAccessToken } from '../access-token.ts'
import { completeAuthorization } from '../authorization.ts'
import { connect } from '../connect.ts'
import type { ActingDeps, OauthApp, OauthDeps } from '../context.ts'
import { revokeConnection } from '../remove-connection.ts'
import { addConnection, changeConnection, refuseOutside } from '../save-connection.ts'
import { testConnection } from '../test-connection.ts'
import { readCallback } from './callback.ts'
import { callbackUrl } from './callback-url.ts'
import { readConnectionId, readOrganizationId } from './connection-request.ts'
import { readChangedConnection, readNewConnection } from './settings-request.ts'
import type { SettingsRules } from './settings-request.ts'

const BODY_BYTES_MAX = 128 << 10

/** The answer of a provider, with the session that it arrived in. */
const answerSchema = v.strictObject({
  query: v.pipe(v.string(), v.startsWith('?'), v.maxLength(8192)),
  session: v.pipe(v.string(), v.minLength(32), v.maxLength(200)),
})

/** The session in which a person connects a connection. */
const sessionSchema = v.strictObject({
  session: v.pipe(v.string(), v.minLength(32), v.maxLength(200)),
  return_to: v.pipe(v.string(), v.regex(/^https?:\/\/[\x21-\x7e]+$/), v.maxLength(2000)),
})

/** The connections that an organization sets up itself: settings, connecting, test, revocation. */
export function ownConnectionRoutes(
  deps: OauthDeps,
  getAccessToken: GetAccessToken,
): Hono<OauthApp> {
  const { settings, guard, config } = deps
  const routes = new Hono<OauthApp>()
  const redirectUri = callbackUrl(config.OAUTH_PUBLIC_URL)
  const rules: SettingsRules = { providers: [...settings.keys()], guard }
  const as = (c: Context<OauthApp>): ActingDeps => ({ ...deps, actor: c.var.actor })
  const list = '/organizations/:organization/connections'
  const one = `${list}/:id`

  routes.post(list, async (c) => {
    const organizationId = readOrganizationId([c.req.param('organization')])
    const { name, ...given } = readNewConnection(await readJson(c.req.raw, BODY_BYTES_MAX), rules)
    const id = await addConnection(as(c), { organizationId, name }, given)
    c.var.wide['connection_id'] = id
    return c.json({ connection_id: id }, 201)
  })

  routes.post('/organizations/:organization/connection-checks', (c) => check(c, deps, rules))

  routes.put(one, async (c) => {
    const id = await findOwn(c, deps)
    const body = await readJson(c.req.raw, BODY_BYTES_MAX)
    const { settingsVersion, ...given } = readChangedConnection(body, rules)
    const { keepsTokens } = await changeConnection(as(c), { id, settingsVersion }, given)
    return c.json({ connection_id: id, keeps_tokens: keepsTokens })
  })

  routes.post(`${one}/authorization`, async (c) => {
    const id = await findOwn(c, deps)
    const { session: binding, return_to: returnTo } = await readBodyAs(c, sessionSchema)
    const link = await connect(as(c), id, { redirectUri, session: { binding, returnTo } })
    return c.json({ connection_id: id, authorization_url: link?.authorizationUrl ?? null })
  })

  routes.post(`${one}/test`, async (c) =>
    c.json(await testConnection(deps, await findOwn(c, deps), getAccessToken)),
  )

  routes.post(`${one}/revocation`, async (c) => {
    const revocation = await revokeConnection(as(c), await findOwn(c, deps))
    return c.json({ revocation })
  })

  routes.post('/authorizations', async (c) => {
    const { query, session } = await readBodyAs(c, answerSchema)
    const callback = readCallback(`http://callback/${query}`, config.OAUTH_PUBLIC_URL)
    const { id, provider } = await completeAuthorization(as(c), callback, session)
    Object.assign(c.var.wide, { connection_id: id, provider })
    return c.json({ connection_id: id })
  })

  return routes
}

/** Answers a new connection as it would be kept. */
async function check(c: Context<OauthApp>, { sql }: OauthDeps, rules: SettingsRules) {
  const organizationId = readOrganizationId([c.req.param('organization') ?? ''])
  const body = await readJson(c.req.raw, BODY_BYTES_MAX)
  const { clientSecret: _, token: __, ...kept } = readNewConnection(body, rules)
  await refuseOutside(sql, organizationId, kept)
  return c.json(kept)
}

/** Returns the id of a connection of this organization. Raises `not_found`. */
async function findOwn(c: Context<OauthApp>, { sql }: OauthDeps): Promise<string> {
  const organizationId = readOrganizationId([c.req.param('organization') ?? ''])
  const id = readConnectionId(c.req.param('id') ?? '')
  const found = await findConnection(sql, id)
  if (found?.organizationId !== organizationId) {
    throw new AppError('not_found', `The organization has no connection ${id}.`)
  }
  c.var.wide['connection_id'] = id
  return id
}

async function readBodyAs<Schema extends v.GenericSchema>(
  c: Context<OauthApp>,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, await readJson(c.req.raw, BODY_BYTES_MAX))
  if (result.success) return result.output
  const problems = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'} is not valid`)
  throw new AppError('unprocessable', `The body is not valid: ${problems.join('; ')}.`, {
    details: { problems },
  })
}
