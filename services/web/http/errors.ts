import type { Context, ErrorHandler } from 'hono'
import { isDatabaseUnavailable } from '../../shared/postgres/failures.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import { problemResponse } from '../../shared/http/problem.ts'
import { TOKEN_PATH, tokenErrorResponse } from '../api/workloads/token-errors.ts'
import type { WebApp, WebDeps } from '../context.ts'
import { createRefusals } from '../gate/callers/refusals.ts'
import { errorPage, notFoundPage } from '../console/frame/error-page.ts'

const NOT_FOUND = new AppError('not_found', 'There is nothing at this address.')

/**
 * The one answer for everything that is not there, or not for this caller: it tells nothing of the
 * path, the method or the session, so that hidden routes can stand behind it (SPEC 4.1, 5.1). Only
 * the wish for HTML or JSON changes it.
 */
export function answerNotFound(c: Context): Response | Promise<Response> {
  c.header('vary', 'Accept')
  if ((c.req.header('accept') ?? '').includes('text/html')) return c.html(notFoundPage(), 404)
  const { status, code: error, message } = NOT_FOUND
  const body = { type: 'about:blank', title: 'Not Found', status, detail: message, error, message }
  return c.body(JSON.stringify(body), 404, { 'content-type': 'application/problem+json' })
}

/**
 * Creates the one handler that turns an error into an answer: a problem document for the APIs, a
 * page for people (SPEC 7).
 */
export function answerError(deps: WebDeps): ErrorHandler<WebApp> {
  const { log, config } = deps
  const recordRefusal = createRefusals(deps)
  const apis = [
    `/${config.PLATFORM_API_PREFIX}/api/`,
    '/designer/v2/',
    '/tools/',
    '/hooks/',
    '/mcp',
  ]
  return function onError(thrown, c) {
    const error = isDatabaseUnavailable(thrown) ? databaseAway(thrown) : toAppError(thrown)
    const { requestId, wide, session, actor } = c.var
    wide['error'] = error.code
    if (error.status >= 500) {
      log.error({ request_id: requestId, err: error.cause ?? error }, 'request failed')
    }
    if (error.code === 'forbidden') recordRefusal(c, actor)
    if (c.req.path === TOKEN_PATH) return tokenErrorResponse(error)
    if (apis.some((api) => c.req.path.startsWith(api))) return problemResponse(error, requestId)
    return c.html(errorPage({ error, requestId, session }), error.status, error.headers)
  }
}

function databaseAway(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    'The platform cannot reach its database right now. Try again.',
    {
      headers: { 'retry-after': '5' },
      cause,
    },
  )
}
