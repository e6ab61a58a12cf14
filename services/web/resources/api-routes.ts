import { Hono } from 'hono'
import type { Context } from 'hono'
import { readJson } from '../../shared/http/json-body.ts'
import { requireOrganization } from '../gate/callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { refuseMethod } from '../http/refuse-method.ts'
import type { Call, Declaration, Fields, Identified, Reader } from './declaration.ts'
import { namesOf } from './names.ts'
import { createChanges, createFinder } from './operations.ts'
import { API, pathsOf } from './rights.ts'
import { documentOf, readBody } from './values.ts'

const BODY_BYTES_MAX = 256 * 1024

/** Serves the API of a resource, to be mounted below its address. */
export const resourceApi =
  (deps: WebDeps): Reader<Hono<OrganizationCall>> =>
  (declaration) =>
    routesOf(declaration, deps)

function routesOf<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
  deps: WebDeps,
): Hono<OrganizationCall> {
  const { under, verbs, actions, secret } = declaration
  const { list: listName, segment } = namesOf(declaration.kind)
  const { list, one } = pathsOf(declaration)
  const finder = createFinder(declaration, deps)
  const changes = createChanges(declaration, deps)
  const authenticate = requireOrganization(deps)
  const routes = new Hono<OrganizationCall>()

  const open = (c: Context<OrganizationCall>) => finder.open(c, askerOf(c))
  const find = (c: Context<OrganizationCall>) => finder.find(c, askerOf(c))
  const read = async (c: Context<OrganizationCall>) =>
    readBody(declaration, await readJson(c.req.raw, BODY_BYTES_MAX))
  /** The row as it is now, with a secret that was made just now. */
  const show = async (call: Call<Owner>, row: Row, made?: string) => ({
    ...documentOf(declaration, call.owner, (await verbs.find(call, String(row.id))) ?? row),
    ...(secret && made !== undefined && { [secret.key]: made }),
  })

  routes.get(list, authenticate, async (c) => {
    const call = await open(c)
    const rows = await verbs.list(call)
    return c.json({ [listName]: rows.map((row) => documentOf(declaration, call.owner, row)) })
  })
  routes.post(list, authenticate, async (c) => {
    const call = await open(c)
    const { row, secret: made } = await changes.create(c.var, call, await read(c))
    const location = `${API}${under.pathOf(call.owner)}/${segment}/${row.id}`
    return c.json(await show(call, row, made), 201, { location })
  })
  routes.all(list, authenticate, refuseMethod('GET, HEAD, POST'))

  routes.get(one, authenticate, async (c) => {
    const { call, row } = await find(c)
    return c.json(documentOf(declaration, call.owner, row))
  })
  routes.put(one, authenticate, async (c) => {
    const found = await find(c)
    await changes.change(c.var, found, await read(c))
    return c.json(await show(found.call, found.row))
  })
  routes.delete(one, authenticate, async (c) => {
    await changes.remove(c.var, await find(c))
    return c.body(null, 204)
  })
  routes.all(one, authenticate, refuseMethod('GET, HEAD, PUT, DELETE'))

  for (const action of Object.keys(actions)) {
    routes.post(`${one}/${action}`, authenticate, async (c) => {
      const found = await find(c)
      const { secret: made } = await changes.act(c.var, found, action)
      return c.json(await show(found.call, found.row, made))
    })
    routes.all(`${one}/${action}`, authenticate, refuseMethod('POST'))
  }
  return routes
}

const askerOf = (c: Context<OrganizationCall>) => ({
  organizationId: c.var.caller.organizationId,
  userId: null,
})
