import { Hono } from 'hono'
import type { Context } from 'hono'
import { readJson } from '../../shared/http/json-body.ts'
import { requireOrganization } from '../gate/callers/organization.ts'
import { addManagers } from '../managed/marks.ts'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { readFlag } from '../api/automation/read-flag.ts'
import { refuseMethod } from '../http/refuse-method.ts'
import type { Declaration, Fields, Identified, Reader } from './declaration.ts'
import { namesOf } from './names.ts'
import { createChanges, createFinder } from './operations.ts'
import type { Found } from './operations.ts'
import { API, pathsOf } from './rights.ts'
import { documentOf, readBody, shownValues, versionOf } from './values.ts'

const BODY_BYTES_MAX = 256 * 1024

/** Serves the API of a resource, to be mounted below its address. */
export const resourceApi =
  (deps: WebDeps): Reader<Hono<OrganizationCall>> =>
  (declaration) =>
    routesOf(declaration, deps)

/** A row with a secret that was made just now. */
interface Shown<Owner, Row> extends Found<Owner, Row> {
  readonly made?: string | undefined
}

function routesOf<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
): Hono<OrganizationCall> {
  const { kind, under, verbs, actions } = declaration
  const { list: listName, segment } = namesOf(kind)
  const { list, one } = pathsOf(declaration)
  const finder = createFinder(declaration, deps)
  const changes = createChanges(declaration, deps)
  const { show, showNow } = createAnswers(declaration)
  const authenticate = requireOrganization(deps)
  const routes = new Hono<OrganizationCall>()
  const having = (verb: unknown) => (verb ? routes : new Hono<OrganizationCall>())

  const open = (c: Context<OrganizationCall>) => finder.open(c, askerOf(c))
  const find = (c: Context<OrganizationCall>) => finder.find(c, askerOf(c))
  const read = async (c: Context<OrganizationCall>) =>
    readBody(declaration, await readJson(c.req.raw, BODY_BYTES_MAX))

  routes.get(list, authenticate, async (c) => {
    const call = await open(c)
    const rows = await verbs.list(call)
    const documents = rows.map((row) => documentOf(declaration, call.owner, row))
    const of = { ...c.var.caller, kind }
    return c.json({ [listName]: await addManagers(call.sql, of, documents) })
  })
  having(verbs.create).post(list, authenticate, async (c) => {
    const call = await open(c)
    const isDryRun = readFlag(c.req.query('dry_run'), 'dry_run')
    const values = await read(c)
    if (isDryRun) return c.json(shownValues(declaration, await verbs.read(call, values)))
    const { row, secret: made } = await changes.create(c.var, call, values)
    const location = `${API}${under.pathOf(call.owner)}/${segment}/${row.id}`
    return c.json(await showNow(c, { call, row, made }), 201, { location })
  })
  routes.all(list, authenticate, refuseAllBut({ POST: verbs.create }))

  routes.get(one, authenticate, async (c) => c.json(await show(c, await find(c))))
  having(verbs.change).put(one, authenticate, async (c) => {
    const found = await find(c)
    await changes.change(c.var, found, { values: await read(c), wanted: wantedBy(c) })
    return c.json(await showNow(c, found))
  })
  having(verbs.remove).delete(one, authenticate, async (c) => {
    await changes.remove(c.var, await find(c), wantedBy(c))
    return c.body(null, 204)
  })
  routes.all(one, authenticate, refuseAllBut({ PUT: verbs.change, DELETE: verbs.remove }))

  for (const action of Object.keys(actions)) {
    routes.post(`${one}/${action}`, authenticate, async (c) => {
      const found = await find(c)
      const { secret: made } = await changes.act(c.var, found, action)
      return c.json(await showNow(c, { ...found, made }))
    })
    routes.all(`${one}/${action}`, authenticate, refuseMethod('POST'))
  }
  return routes
}

/** Refuses methods that neither read nor have a verb. */
const refuseAllBut = (verbs: Readonly<Record<string, unknown>>) =>
  refuseMethod(['GET, HEAD', ...Object.keys(verbs).filter((name) => verbs[name])].join(', '))

/** Creates the answers that show a row, with its version in `ETag`. */
function createAnswers<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
) {
  const { kind, verbs, secret } = declaration

  async function show(c: Context<OrganizationCall>, { call, row }: Found<Owner, Row>) {
    c.header('etag', `"${versionOf(declaration, row)}"`)
    const document = documentOf(declaration, call.owner, row)
    return (await addManagers(call.sql, { ...c.var.caller, kind }, [document]))[0]
  }

  /** The row as it is now, with a secret that was made just now. */
  async function showNow(c: Context<OrganizationCall>, { call, row, made }: Shown<Owner, Row>) {
    const now = (await verbs.find(call, String(row.id))) ?? row
    return { ...(await show(c, { call, row: now })), ...(secret && made && { [secret.key]: made }) }
  }

  return { show, showNow }
}

/** Returns the versions that a change is for; undefined: any. A weak one is of none. */
function wantedBy(c: Context): readonly string[] | undefined {
  const given = c.req.header('if-match')
  if (given === undefined || given.trim() === '*') return undefined
  return given.split(',').map((tag) => /^"([^"]*)"$/.exec(tag.trim())?.[1] ?? '')
}

const askerOf = (c: Context<OrganizationCall>) => ({
  organizationId: c.var.caller.organizationId,
  userId: null,
  tokenId: c.var.caller.tokenId,
})
