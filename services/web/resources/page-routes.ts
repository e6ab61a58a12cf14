import { Hono } from 'hono'
import type { Context } from 'hono'
import { AppError } from '../../shared/errors.ts'
import type { Page } from '../../shared/postgres/paging.ts'
import { isNameCursor, readPageRequest } from '../console/frame/lists/page-request.ts'
import type { Html } from '../console/frame/parts.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { requireForm } from '../gate/callers/forms.ts'
import { requireSession } from '../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import type { Call, Declaration, Fields, Identified, Outcome, Reader } from './declaration.ts'
import { endOf, namesOf } from './names.ts'
import { noticeOf } from './notices.ts'
import { createChanges, createFinder } from './operations.ts'
import type { Found } from './operations.ts'
import { deletePage, listPage, listPath, rowPage, secretPage, VERSION } from './pages.ts'
import { pathsOf } from './rights.ts'
import { readForm, typedOf, versionOf, withFixed } from './values.ts'

const REFUSALS: ReadonlySet<string> = new Set(['unprocessable', 'conflict', 'precondition_failed'])

/** Serves the pages of a resource: its list with the form of a new one, and one for each row. */
export const resourcePages =
  (deps: WebDeps): Reader<Hono<SignedIn>> =>
  (declaration) => {
    const { rights, verbs, actions } = declaration
    const { list, one } = pathsOf(declaration, 'pages')
    const finder = createFinder(declaration, deps)
    const changes = createChanges(declaration, deps)
    const show = createViews(declaration, deps)
    const routes = new Hono<SignedIn>()
    const having = (verb: unknown) => (verb ? routes : new Hono<SignedIn>())
    const session = requireSession(deps)
    const form = requireForm(deps.config.PLATFORM_BASE_URL)
    const mayRead = declareRight(rights.read)
    const mayChange = declareRight(rights.change)

    routes.get(list, mayRead, session, async (c) => show.list(c, await finder.open(c, askerOf(c))))

    having(verbs.create).post(list, mayChange, session, form, async (c) => {
      const call = await finder.open(c, askerOf(c))
      const made = await takeForm(async () =>
        changes.create(c.var, call, readForm(declaration, c.var.form)),
      )
      if (typeof made === 'string') return show.list(c, call, { typed: c.var.form, problem: made })
      return show.done(c, { call, row: made.row }, { done: 'saved', ...made })
    })

    routes.get(one, mayRead, session, async (c) => show.row(c, await finder.find(c, askerOf(c))))

    having(verbs.change).post(one, mayChange, session, form, async (c) => {
      const found = await finder.find(c, askerOf(c))
      const typed = withFixed(declaration, c.var.form, found.row)
      const wanted = c.var.form.getAll(VERSION)
      const made = await takeForm(async () =>
        changes.change(c.var, found, { values: readForm(declaration, typed), wanted }),
      )
      if (typeof made === 'string') return show.row(c, found, { typed, problem: made })
      return show.done(c, found, { done: 'saved', ...(typeof made === 'object' && made) })
    })

    for (const [name, { past }] of Object.entries(actions)) {
      routes.post(`${one}/${name}`, mayChange, session, form, async (c) => {
        const found = await finder.find(c, askerOf(c))
        const outcome = await changes.act(c.var, found, name)
        return show.done(c, found, { done: past.replaceAll('_', '-'), ...outcome })
      })
    }

    having(verbs.remove).get(`${one}/delete`, mayChange, session, async (c) =>
      show.question(c, await finder.find(c, askerOf(c))),
    )
    having(verbs.remove).post(`${one}/delete`, mayChange, session, form, async (c) => {
      const found = await finder.find(c, askerOf(c))
      const problem = await takeForm(async () => changes.remove(c.var, found))
      return problem === undefined ? show.deleted(c, found) : show.row(c, found, { problem })
    })
    return routes
  }

/** Shows the page of the row of a path, with another section beside its form. */
export const resourcePage =
  (deps: WebDeps): Reader<(c: Context<SignedIn>, section: Html) => Promise<Response>> =>
  (declaration) =>
  async (c, section) => {
    const found = await createFinder(declaration, deps).find(c, askerOf(c))
    return createViews({ ...declaration, beside: () => section }, deps).row(c, found)
  }

/** Creates what shows the pages, after a form that was refused as well. */
function createViews<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
) {
  const { verbs, fields, secret: secretOf } = declaration
  const { notice } = namesOf(declaration.kind)
  const [, end] = endOf(declaration)

  const pathOf = (owner: Owner, { id }: Row): string => `${listPath(declaration, owner)}/${id}`
  const toldIn = async (c: Context<SignedIn>, call: Call<Owner>, refused?: Refused) => ({
    session: c.var.session,
    problem: refused?.problem,
    notice: noticeOf(declaration, c.req.query('notice')),
    suggests: await declaration.suggests?.(call),
  })

  return {
    async list(c: Context<SignedIn>, call: Call<Owner>, refused?: Refused) {
      const typed = refused?.typed ?? typedOf(fields, await declaration.proposes(call))
      const request = readPageRequest(c, isNameCursor)
      const page = (await verbs.page?.(call, request)) ?? wholeOf(await verbs.list(call))
      const at = { owner: call.owner, path: listPath(declaration, call.owner) }
      const told = await toldIn(c, call, refused)
      const view = { ...at, typed, page, request, ...told }
      return c.html(listPage(declaration, view), refused ? 422 : 200)
    },

    async row(c: Context<SignedIn>, { call, row }: Found<Owner, Row>, refused?: Refused) {
      const { owner } = call
      const typed = refused?.typed ?? typedOf(fields, declaration.values(row))
      const version = versionOf(declaration, row)
      const at = { c, sql: deps.sql, owner, row, version, path: pathOf(owner, row) }
      const told = await toldIn(c, call, refused)
      return c.html(await rowPage(declaration, { ...at, typed, ...told }), refused ? 422 : 200)
    },

    async question(c: Context<SignedIn>, { call: { owner }, row }: Found<Owner, Row>) {
      const view = { session: c.var.session, owner, row, path: pathOf(owner, row) }
      return c.html(deletePage(declaration, view))
    },

    deleted: (c: Context<SignedIn>, { call: { owner } }: Found<Owner, Row>) =>
      c.redirect(`${listPath(declaration, owner)}?notice=${notice}-${end}`, 303),

    /** Shows the secret that was made, or leads to the page that says what was done. */
    async done(
      c: Context<SignedIn>,
      { call, row }: Found<Owner, Row>,
      { done, secret, mailed, at = '' }: Outcome & { readonly done: string },
    ): Promise<Response> {
      const path = pathOf(call.owner, row)
      if (secret === undefined) return c.redirect(`${path}${at}?notice=${notice}-${done}`, 303)
      const now = (await verbs.find(call, String(row.id))) ?? row
      const view = { session: c.var.session, owner: call.owner, row: now, path, secret }
      const hint = secretOf?.hint({ deps, mailed, ...view })
      return c.html(secretPage(declaration, { ...view, hint }))
    },
  }
}

const wholeOf = <Row>(items: readonly Row[]): Page<Row> => ({ items, total: items.length })

/** A form that was refused. */
interface Refused {
  /** @default what there is */
  readonly typed?: URLSearchParams
  readonly problem: string
}

const askerOf = ({ var: { session } }: Context<SignedIn>) => ({
  organizationId: session.user.organizationId,
  userId: session.user.id,
  tokenId: null,
})

/** Returns what a form led to, or what is wrong with it. */
async function takeForm<Result>(take: () => Promise<Result>): Promise<Result | string> {
  try {
    return await take()
  } catch (thrown) {
    if (thrown instanceof AppError && REFUSALS.has(thrown.code)) return thrown.message
    throw thrown
  }
}
