import { Hono } from 'hono'
import type { Actor } from '../../platform/audit/audit.ts'
import { AppError } from '../../shared/errors.ts'
import { completeAuthorization, isState, returnPageOf } from '../authorization.ts'
import type { OauthApp, OauthDeps } from '../context.ts'
import { connectedPage } from '../views/callback-page.ts'
import { callbackPaths, callbackUrl } from './callback-url.ts'

const QUERY_CHARACTERS_MAX = 8192

/** The link alone completes an authorization that no session began. */
const WHOEVER: Actor = {
  kind: 'person',
  id: null,
  name: 'whoever opened the link',
  organizationId: null,
}

/**
 * `GET /callback`: a provider sends a browser back with the answer of the person who authorizes.
 */
export function callbackRoutes(deps: OauthDeps): Hono<OauthApp> {
  const routes = new Hono<OauthApp>()
  const publicUrl = deps.config.OAUTH_PUBLIC_URL

  for (const path of callbackPaths(publicUrl)) {
    routes.get(path, async (c) => {
      // HEAD arrives here too: a program that looks at links must not use one up.
      if (c.req.method !== 'GET') throw new AppError('method_not_allowed', 'Open this link.')
      const callback = readCallback(c.req.url, publicUrl)
      const page = await returnPageOf(deps, callback)
      // Only the session that began may complete it, which its own page can tell.
      if (page !== undefined) return c.redirect(`${page}${callback.search}`, 303)
      const actor = { ...WHOEVER, requestId: c.var.requestId }
      const completed = await completeAuthorization({ ...deps, actor }, callback)
      Object.assign(c.var.wide, {
        connection_id: completed.id,
        provider: completed.provider,
      })
      return c.html(connectedPage(completed))
    })
  }

  return routes
}

/**
 * Returns the registered callback URL with the query of this request. Raises `invalid_request` for
 * what is no answer at all.
 */
export function readCallback(url: string, publicUrl: string): URL {
  const { search, searchParams: query } = new URL(url)
  const names = [...query.keys()]
  const isAnswer =
    search.length <= QUERY_CHARACTERS_MAX &&
    new Set(names).size === names.length &&
    isState(query.get('state') ?? '') &&
    Boolean(query.get('code')) !== Boolean(query.get('error'))
  if (isAnswer) return new URL(`${callbackUrl(publicUrl)}${search}`)
  throw new AppError(
    'invalid_request',
    'This address is not a complete answer of a provider. Ask for a new link and start again.',
    { details: { code: 'bad_callback' } },
  )
}
