import type { Context, Hono } from 'hono'
import { readJson } from '../../shared/http/json-body.ts'
import { requireAdministratorCall } from '../gate/callers/administrator.ts'
import { requireOrganization } from '../gate/callers/organization.ts'
import { mark, markAll } from '../managed/marks.ts'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { createApi } from '../api/api-room.ts'
import { operationsOf } from '../api/openapi/describe-resource.ts'
import { readFlag } from '../api/automation/read-flag.ts'
import type { Call, Declaration, Done, Fields, Identified, Reader, Values } from './declaration.ts'
import { namesOf } from './names.ts'
import { createChanges, createFinder } from './operations.ts'
import type { Found } from './operations.ts'
import { API, pathsOf } from './rights.ts'
import { documentOf, readBody, requireFixed, shownValues, versionOf } from './values.ts'

const BODY_BYTES_MAX = 256 * 1024

/** Serves the API of a resource, to be mounted below its address. */
export const resourceApi =
  (deps: WebDeps): Reader<Hono<OrganizationCall>> =>
  (declaration) => {
    const { kind, under, verbs, rights } = declaration
    const { list: listName, segment } = namesOf(kind)
    const { list, one } = pathsOf(declaration)
    const finder = createFinder(declaration, deps)
    const changes = createChanges(declaration, deps)
    const { look, show, showNow } = createAnswers(declaration)
    const described = operationsOf(declaration)
    const isOfPlatform = rights.read === 'platform-admin'
    const caller = isOfPlatform ? requireAdministratorCall : requireOrganization
    const api = createApi(deps, caller(deps))

    const open = (c: Context<OrganizationCall>) => finder.open(c, c.var.caller)
    const find = (c: Context<OrganizationCall>) => finder.find(c, c.var.caller)
    const read = async (c: Context<OrganizationCall>) =>
      readBody(declaration, await readJson(c.req.raw, BODY_BYTES_MAX))

    api.get(rights.read, [list, described.list], async (c) => {
      const call = await open(c)
      const rows = (await verbs.list(call)).map((row) => documentOf(declaration, call.owner, row))
      return c.json({ [listName]: await markAll(call.sql, { ...c.var.caller, kind }, rows) })
    })
    if (verbs.create) {
      api.post(rights.change, [list, described.create], async (c) => {
        const call = await open(c)
        const values = await read(c)
        if (isDry(c)) return c.json(await look(call, values))
        const { row, ...made } = await changes.create(c.var, call, values)
        const location = `${API}${under.pathOf(call.owner)}/${segment}/${row.id}`
        return c.json(await showNow(c, { call, row }, made), 201, { location })
      })
    }

    api.get(rights.read, [one, described.get], async (c) => c.json(await show(c, await find(c))))
    if (verbs.change) {
      api.put(rights.change, [one, described.change], async (c) => {
        const found = await find(c)
        const values = await read(c)
        if (isDry(c)) return c.json(await look(found.call, values, found.row))
        await changes.change(c.var, found, { values, wanted: readIfMatch(c) })
        return c.json(await showNow(c, found))
      })
    }
    if (verbs.remove) {
      api.delete(rights.change, [one, described.remove], async (c) => {
        await changes.remove(c.var, await find(c), readIfMatch(c))
        return c.body(null, 204)
      })
    }

    for (const [action, operation] of Object.entries(described.actions)) {
      api.post(rights.change, [`${one}/${action}`, operation], async (c) => {
        const found = await find(c)
        return c.json(await showNow(c, found, await changes.act(c.var, found, action)))
      })
    }
    return api.routes()
  }

/** Creates the answers that show a row, with its version in `ETag`. */
function createAnswers<Owner, Given, Row extends Given & Identified, Of extends Fields>(
  declaration: Declaration<Owner, Given, Row, Of>,
) {
  const { kind, verbs, secret } = declaration

  /** The values as they would be kept, of a row that is there or of a new one. */
  async function look(call: Call<Owner>, values: Values<Of>, row?: Row) {
    if (row) requireFixed(declaration, values, row)
    return shownValues(declaration, await verbs.read(call, values))
  }

  async function show(c: Context, { call, row }: Found<Owner, Row>) {
    c.header('etag', `"${versionOf(declaration, row)}"`)
    return mark(call.sql, { ...c.get('caller'), kind }, documentOf(declaration, call.owner, row))
  }

  /** The row as it is now, with a secret that was made just now. */
  async function showNow(c: Context, { call, row }: Found<Owner, Row>, made: Done = {}) {
    const now = (await verbs.find(call, String(row.id))) ?? row
    const sent = secret?.isMailed && { mailed: made.mailed?.isSent ?? null }
    const once = secret && made.secret && { [secret.key]: made.secret, ...sent }
    return { ...(await show(c, { call, row: now })), ...once }
  }

  return { look, show, showNow }
}

/** Returns the versions that a change is for (RFC 9110, 13.1.1); none: any. */
function readIfMatch(c: Context): readonly string[] {
  const given = c.req.header('if-match')
  if (given === undefined || given.trim() === '*') return []
  return given.split(',').map((tag) => /^"([^"]*)"$/.exec(tag.trim())?.[1] ?? '')
}

const isDry = (c: Context): boolean => readFlag(c.req.query('dry_run'), 'dry_run')
