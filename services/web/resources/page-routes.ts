import { Hono } from 'hono'
import type { Context } from 'hono'
import type { Page } from '../../shared/postgres/paging.ts'
import { isNameCursor, readPageRequest } from '../console/frame/lists/page-request.ts'
import type { Html } from '../console/frame/parts.ts'
import { requireAdministrator } from '../gate/callers/administrator.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { requireForm, takeForm } from '../gate/callers/forms.ts'
import { requireSession } from '../gate/callers/session.ts'
import type { Notice, SignedIn, WebDeps } from '../context.ts'
import type { Call, Declaration, Done, Fields, Identified, Reader, Shown } from './declaration.ts'
import { endOf, namesOf } from './names.ts'
import { createChanges, createFinder } from './operations.ts'
import type { Found } from './operations.ts'
import { listPage, listPath, questionPage, rowPage, secretPage, VERSION } from './pages.ts'
import type { Asked } from './pages.ts'
import { pathsOf } from './rights.ts'
import { defaultsOf, readForm, typedOf, versionOf, withFixed } from './values.ts'

/** Serves the pages of a resource: its list with the form of a new one, and one for each row. */
export const resourcePages =
  (deps: WebDeps): Reader<Hono<SignedIn>> =>
  (declaration) => {
    const { rights, verbs, actions } = declaration
    for (const [key, notice] of noticesOf(declaration)) deps.notices.set(key, notice)
    const { list, one } = pathsOf(declaration, 'pages')
    const finder = createFinder(declaration, deps)
    const changes = createChanges(declaration, deps)
    const show = createViews(declaration, deps)
    const routes = new Hono<SignedIn>()
    const having = (verb: unknown) => (verb ? routes : new Hono<SignedIn>())
    const session = (rights.read === 'platform-admin' ? requireAdministrator : requireSession)(deps)
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

    for (const asked of questionsOf(declaration)) {
      routes.get(`${one}/${asked[0]}`, mayChange, session, async (c) =>
        show.question(c, await finder.find(c, askerOf(c)), asked),
      )
    }

    having(verbs.remove).post(`${one}/delete`, mayChange, session, form, async (c) => {
      const found = await finder.find(c, askerOf(c))
      const problem = await takeForm(async () => changes.remove(c.var, found))
      return problem === undefined ? show.deleted(c, found) : show.row(c, found, { problem })
    })
    return routes
  }

/** What people are asked before it is done. */
function questionsOf<Owner, Row extends Identified>(shown: Shown<Owner, Row>): readonly Asked[] {
  const { verbs, actions, words } = shown
  const asked = Object.entries(actions).map(([name, each]) => [name, each.text, each.asks] as const)
  const [end] = endOf(shown)
  return [
    ...(verbs.remove ? [['delete', end, words.deletes] as const] : []),
    ...asked.filter(([, , asks]) => asks !== undefined),
  ]
}

/** Returns what people are told when something is done with a row, by its name in addresses. */
function noticesOf<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
): readonly (readonly [key: string, notice: Notice])[] {
  const { words, actions } = shown
  const { notice } = namesOf(shown.kind)
  return [
    [`${notice}-saved`, { text: words.saved ?? '' }],
    [`${notice}-${endOf(shown)[1]}`, { text: words.deleted ?? '' }],
    ...Object.values(actions).map(
      ({ past, done: text, undo }) =>
        [`${notice}-${past.replaceAll('_', '-')}`, { text, undo }] as const,
    ),
  ]
}

/** Shows the page of the row of a path with other sections, and with what is typed in its form. */
export const resourcePage =
  (deps: WebDeps): Reader<ShowPage> =>
  (declaration) =>
  async (c, sections, tried) => {
    const found = await createFinder(declaration, deps).find(c, askerOf(c))
    return createViews({ ...declaration, ...sections }, deps).row(c, found, tried)
  }

type Sections = Readonly<Partial<Record<'below' | 'beside', () => Html>>>
type ShowPage = (c: Context<SignedIn>, shown: Sections, tried?: Refused) => Promise<Response>

/** Creates what says how a page came about, and what may be typed on it. */
const createTold =
  <Owner, Row extends Identified>(shown: Shown<Owner, Row>, { notices }: WebDeps) =>
  async (c: Context<SignedIn>, call: Call<Owner>, refused?: Refused) => ({
    session: c.var.session,
    problem: refused?.problem,
    notice: notices.get(c.req.query('notice') ?? ''),
    suggests: await shown.suggests?.(call),
  })

/** Creates what shows the pages, after a form that was refused as well. */
function createViews<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
) {
  const { verbs, fields, secret: secretOf } = declaration
  const { notice } = namesOf(declaration.kind)
  const [, end] = endOf(declaration)

  const pathOf = (owner: Owner, { id }: Row): string => `${listPath(declaration, owner)}/${id}`
  const toldIn = createTold(declaration, deps)

  return {
    async list(c: Context<SignedIn>, call: Call<Owner>, refused?: Refused) {
      const proposed = { ...defaultsOf(fields), ...(await declaration.proposes?.(call)) }
      const typed = refused?.typed ?? typedOf(fields, proposed)
      const request = readPageRequest(c, isNameCursor)
      const page = (await verbs.page?.(call, request)) ?? wholeOf(await verbs.list(call))
      const [only] = declaration.isOnly ? page.items : []
      if (only) return c.redirect(pathOf(call.owner, only), 303)
      const at = { owner: call.owner, path: listPath(declaration, call.owner), page, request }
      const told = await toldIn(c, call, refused)
      return c.html(listPage(declaration, { ...at, typed, ...told }), refused ? 422 : 200)
    },

    async row(c: Context<SignedIn>, { call, row }: Found<Owner, Row>, refused?: Refused) {
      const typed = refused?.typed ?? typedOf(fields, declaration.values(row))
      const path = pathOf(call.owner, row)
      const version = versionOf(declaration, row)
      const at = { c, sql: deps.sql, deps, owner: call.owner, row, version, path }
      const told = await toldIn(c, call, refused)
      return c.html(
        await rowPage(declaration, { ...at, typed, ...told }),
        refused?.problem === undefined ? undefined : 422,
      )
    },

    question(c: Context<SignedIn>, { call: { owner }, row }: Found<Owner, Row>, asked: Asked) {
      const at = { session: c.var.session, owner, row, path: pathOf(owner, row) }
      return c.html(questionPage(declaration, at, asked))
    },

    deleted: (c: Context<SignedIn>, { call: { owner } }: Found<Owner, Row>) =>
      c.redirect(`${listPath(declaration, owner)}?notice=${notice}-${end}`, 303),

    /** Shows the secret that was made, or leads to the page that says what was done. */
    async done(
      c: Context<SignedIn>,
      { call, row }: Found<Owner, Row>,
      { done, secret, at = '', mailed }: Done & { readonly done: string },
    ): Promise<Response> {
      const path = pathOf(call.owner, row)
      if (secret === undefined) return c.redirect(`${path}${at}?notice=${notice}-${done}`, 303)
      const now = (await verbs.find(call, String(row.id))) ?? row
      const made = { session: c.var.session, owner: call.owner, row: now, path, secret, mailed }
      return c.html(secretPage(declaration, { ...made, hint: secretOf?.hint({ deps, ...made }) }))
    },
  }
}

const wholeOf = <Row>(items: readonly Row[]): Page<Row> => ({ items, total: items.length })

/** A form that was refused; without a problem, it was only tried. */
interface Refused {
  /** @default what there is */
  readonly typed?: URLSearchParams
  readonly problem: string | undefined
}

const askerOf = ({ var: { session } }: Context<SignedIn>) => ({
  organizationId: session.user.organizationId,
  userId: session.user.id,
  tokenId: null,
})
