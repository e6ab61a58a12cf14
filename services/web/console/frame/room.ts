import { Hono } from 'hono'
import type { Context } from 'hono'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import type { Right } from '../../gate/callers/right.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'

/** A right of people, whatever the organization or in it. */
export type PeopleRight = Exclude<Right, 'anybody' | 'token' | 'platform-admin'>

/** A form that changes something. */
interface FormAction<Found, Result> {
  /** Returns what the form is about, or the page that refuses it. */
  readonly find: (c: Context<SignedIn>) => Promise<Found | Response>
  readonly change: (tx: Transaction, found: Found) => Promise<Result>
  /** undefined: nothing was changed, or it is the matter of one person. */
  readonly entry: (found: Found, result: Result) => AuditEntry | undefined
  /** Returns the address to lead to, and the name of what is said there. */
  readonly done: (found: Found, result: Result) => readonly [path: string, notice: string]
}

/** Shows a page, with the notice that its address names, or takes what a page has sent. */
type Answer = (c: Context<SignedIn>) => Promise<Response> | Response

/** Routes for people, each of which says who may call it. */
export interface Room {
  readonly routes: Hono<SignedIn>
  readonly page: (right: PeopleRight, path: string, show: Answer) => void
  /** Takes a form whose answer is more than what was done, or that the audit is not about. */
  readonly form: (right: PeopleRight, path: string, take: Answer) => void
  /** Takes files with a form, which `take` reads, and holds against the session. */
  readonly upload: (right: PeopleRight, path: string, take: Answer) => void
  /** Takes a form that changes something, and says what the audit and people learn of it. */
  readonly action: <Found, Result>(
    right: PeopleRight,
    path: string,
    action: FormAction<Found, Result>,
  ) => void
}

/**
 * Creates the routes of a room of the console, with what people are told when something is done in
 * it, on whichever page, and the longest form if it is another than usual, in bytes.
 *
 * @example
 * const room = createRoom(deps, { 'limits-saved': 'The limits are saved.' })
 * room.page('viewer', '/limits', async (c) => c.html(limitsPage(await read(c), c.var.notice)))
 * room.action('admin', '/limits', {
 *   find: async (c) => readLimits(c.var.form),
 *   change: (tx, limits) => saveLimits(tx, limits),
 *   entry: (limits) => ({ action: 'limits_set', target, after: limits }),
 *   done: () => ['/limits', 'limits-saved'],
 * })
 */
export function createRoom(
  deps: WebDeps,
  notices: Readonly<Record<string, string>> = {},
  formBytesMax?: number,
): Room {
  const routes = new Hono<SignedIn>()
  const audited = createAudited(deps.sql)
  const session = requireSession(deps)
  const form = requireForm(deps.config.PLATFORM_BASE_URL, formBytesMax)
  for (const [key, text] of Object.entries(notices)) deps.notices.set(key, { text })
  return {
    routes,
    page(right, path, show) {
      routes.get(path, declareRight(right), session, async (c) => {
        c.set('notice', deps.notices.get(c.req.query('notice') ?? '')?.text)
        return show(c)
      })
    },
    form(right, path, take) {
      routes.post(path, declareRight(right), session, form, async (c) => take(c))
    },
    upload(right, path, take) {
      routes.post(path, declareRight(right), session, async (c) => take(c))
    },
    action(right, path, { find, change, entry, done }) {
      routes.post(path, declareRight(right), session, form, async (c) => {
        const found = await find(c)
        if (found instanceof Response) return found
        const result = await audited(
          c.var,
          (tx) => change(tx, found),
          (made) => entry(found, made),
        )
        const [at, notice] = done(found, result)
        return c.redirect(`${at}${at.includes('?') ? '&' : '?'}notice=${notice}`, 303)
      })
    },
  }
}
