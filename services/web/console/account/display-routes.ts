import type { Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import { cookieNames, cookieOptions } from '../../gate/callers/cookies.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createRoom } from '../frame/room.ts'

const DISPLAY_SECONDS = 365 * 86_400

/** Keeps how close the rows of lists are, in this browser. */
export function displayRoutes(deps: WebDeps): Hono<SignedIn> {
  const { config } = deps
  const room = createRoom(deps)

  room.form('person', '/account/display', (c) => {
    const { PLATFORM_BASE_URL: baseUrl } = config
    const density = c.var.form.get('density') === 'compact' ? 'compact' : 'roomy'
    const cookie = { ...cookieOptions(baseUrl), maxAge: DISPLAY_SECONDS }
    setCookie(c, cookieNames(baseUrl).density, density, cookie)
    return c.redirect(backTo(c.req.header('referer'), baseUrl), 303)
  })

  return room.routes
}

/** Returns the path of the page that a form was on; that of the account for any other address. */
function backTo(referer: string | undefined, baseUrl: string): string {
  if (referer === undefined || !URL.canParse(referer)) return '/account'
  const { host, pathname, search } = new URL(referer)
  return host === new URL(baseUrl).host && /^\/(?!\/)/.test(pathname)
    ? pathname + search
    : '/account'
}
