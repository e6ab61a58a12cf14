import { Hono } from 'hono'
import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import type { GetAccessToken } from '../access-token.ts'
import type { OauthApp } from '../context.ts'
import { readConnectionId } from './connection-request.ts'

const BODY_BYTES_MAX = 1 << 10

/** The run that asks, whose identity the token may be. */
const forRun = v.object({ kickoff_id: v.pipe(v.string(), v.uuid()) })

async function readRun(request: Request): Promise<string | undefined> {
  if (!request.headers.has('content-type')) return undefined
  const read = v.safeParse(forRun, await readJson(request, BODY_BYTES_MAX))
  if (read.success) return read.output.kickoff_id
  throw new AppError('unprocessable', 'The body is empty, or has the kickoff_id of a run.')
}

/** `POST /connections/:id/token`: an access token that is good for a while yet. */
export function tokenRoutes(getAccessToken: GetAccessToken): Hono<OauthApp> {
  const routes = new Hono<OauthApp>()

  routes.post('/connections/:id/token', async (c) => {
    const id = readConnectionId(c.req.param('id'))
    c.var.wide['connection_id'] = id
    const token = await getAccessToken(id, await readRun(c.req.raw))
    const { accessToken, tokenType, expiresAt, scope, ...use } = token
    return c.json({
      access_token: accessToken,
      token_type: tokenType,
      expires_at: expiresAt?.toISOString() ?? null,
      scope,
      ...use,
    })
  })

  return routes
}
