import { Hono } from 'hono'
import type { Context } from 'hono'
import { AppError } from '../../shared/errors.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { requireForm } from '../gate/callers/forms.ts'
import { requireSession } from '../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import type {
  Call,
  Declaration,
  Fields,
  Identified,
  Outcome,
  Reader,
  Shown,
} from './declaration.ts'
import { namesOf } from './names.ts'
import { noticeOf } from './notices.ts'
import { createChanges, createFinder } from './operations.ts'
import type { Found } from './operations.ts'
import { deletePage, listPage, rowPage, secretPage } from './pages.ts'
import { pathsOf } from './rights.ts'
import { readForm, typedOf, withFixed } from './values.ts'

/** Serves the pages of a resource: its list with the form of a new one, and one for each row. */
export const resourcePages =
  (deps: WebDeps): Reader<Hono<SignedIn>> =>
  (declaration) =>
    routesOf(declaration, deps)

function routesOf<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
): Hono<SignedIn> {
  const { rights, actions } = declaration
  const { list, one } = pathsOf(declaration)
  const finder = createFinder(declaration, deps)
  const changes = createChanges(declaration, deps)
  const show = createViews(declaration, deps)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(deps.config.PLATFORM_BASE_URL)
  const mayRead = declareRight(rights.read)
  const mayChange = declareRight(rights.change)

  routes.get(list, mayRead, session, async (c) => show.list(c, await finder.open(c, askerOf(c))))

  routes.post(list, mayChange, session, form, async (c) => {
    const call = await finder.open(c, askerOf(c))
    const made = await takeForm(async () =>
      changes.create(c.var, call, readForm(declaration, c.var.form)),
    )
    if (typeof made === 'string') return show.list(c, call, { typed: c.var.form, problem: made })
    return show.done(c, { call, row: made.row }, { ...made, done: 'saved' })
  })

  routes.get(one, mayRead, session, async (c) => show.row(c, await finder.find(c, askerOf(c))))

  routes.post(one, mayChange, session, form, async (c) => {
    const found = await finder.find(c, askerOf(c))
    const typed = withFixed(declaration, c.var.form, found.row)
    const problem = await takeForm(async () =>
      changes.change(c.var, found, { values: readForm(declaration, typed) }),
    )
    if (typeof problem === 'string') return show.row(c, found, { typed, problem })
    return show.done(c, found, { done: 'saved' })
  })

  for (const [name, { past }] of Object.entries(actions)) {
    routes.post(`${one}/${name}`, mayChange, session, form, async (c) => {
      const found = await finder.find(c, askerOf(c))
      const outcome = await changes.act(c.var, found, name)
      return show.done(c, found, { ...outcome, done: past.replaceAll('_', '-') })
    })
  }

  routes.route('/', deleteRoutes(declaration, deps))
  return routes
}

/** Asks before a row is deleted, and deletes it. */
function deleteRoutes<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
): Hono<SignedIn> {
  const finder = createFinder(declaration, deps)
  const changes = createChanges(declaration, deps)
  const { notice } = namesOf(declaration.kind)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(deps.config.PLATFORM_BASE_URL)
  const mayChange = declareRight(declaration.rights.change)
  const path = `${pathsOf(declaration).one}/delete`

  routes.get(path, mayChange, session, async (c) => {
    const { call, row } = await finder.find(c, askerOf(c))
    const { owner } = call
    const view = { session: c.var.session, owner, row, path: rowPath(declaration, owner, row) }
    return c.html(deletePage(declaration, view))
  })

  routes.post(path, mayChange, session, form, async (c) => {
    const found = await finder.find(c, askerOf(c))
    await changes.remove(c.var, found)
    return c.redirect(`${listPath(declaration, found.call.owner)}?notice=${notice}-deleted`, 303)
  })

  return routes
}

/** Creates what shows the pages, after a form that was refused as well. */
function createViews<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  { sql }: WebDeps,
) {
  const { verbs, fields } = declaration

  const toldIn = (c: Context<SignedIn>, refused?: Refused) => ({
    session: c.var.session,
    problem: refused?.problem,
    notice: noticeOf(declaration, c.req.query('notice')),
  })

  return {
    async list(c: Context<SignedIn>, call: Call<Owner>, refused?: Refused) {
      const { owner } = call
      const typed = refused?.typed ?? typedOf(fields, await declaration.proposes(call))
      const view = { owner, path: listPath(declaration, owner), typed, ...toldIn(c, refused) }
      const page = listPage(declaration, { ...view, rows: await verbs.list(call) })
      return c.html(page, refused ? 422 : 200)
    },

    async row(c: Context<SignedIn>, { call, row }: Found<Owner, Row>, refused?: Refused) {
      const { owner } = call
      const typed = refused?.typed ?? typedOf(fields, declaration.values(row))
      const at = { c, sql, owner, row, path: rowPath(declaration, owner, row) }
      const page = await rowPage(declaration, { ...at, typed, ...toldIn(c, refused) })
      return c.html(page, refused ? 422 : 200)
    },

    /** Shows the secret that was made, or leads to the page that says what was done. */
    async done(
      c: Context<SignedIn>,
      { call, row }: Found<Owner, Row>,
      { done, secret, at = '' }: Outcome & { readonly done: string },
    ): Promise<Response> {
      const { owner } = call
      const path = rowPath(declaration, owner, row)
      const { notice } = namesOf(declaration.kind)
      if (secret === undefined) return c.redirect(`${path}${at}?notice=${notice}-${done}`, 303)
      const now = (await verbs.find(call, String(row.id))) ?? row
      const view = { session: c.var.session, owner, row: now, path, secret }
      return c.html(secretPage(declaration, view))
    },
  }
}

/** A form that was refused. */
interface Refused {
  readonly typed: URLSearchParams
  readonly problem: string
}

type Placed<Owner> = Pick<Shown<Owner, Identified>, 'kind' | 'under'>

const listPath = <Owner>({ kind, under }: Placed<Owner>, owner: Owner): string =>
  `${under.pathOf(owner)}/${namesOf(kind).segment}`

const rowPath = <Owner>(of: Placed<Owner>, owner: Owner, { id }: Identified): string =>
  `${listPath(of, owner)}/${id}`

const askerOf = ({ var: { session } }: Context<SignedIn>) => ({
  organizationId: session.user.organizationId,
  userId: session.user.id,
})

/** Returns what a form led to, or what is wrong with it. */
async function takeForm<Result>(take: () => Promise<Result>): Promise<Result | string> {
  try {
    return await take()
  } catch (thrown) {
    const isRefused =
      thrown instanceof AppError && (thrown.code === 'unprocessable' || thrown.code === 'conflict')
    if (isRefused) return thrown.message
    throw thrown
  }
}
