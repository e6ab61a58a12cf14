import type { Fields, Identified, Parent, Reader, Shown } from '../../resources/declaration.ts'
import { endOf, namesOf } from '../../resources/names.ts'
import { API } from '../../resources/rights.ts'
import { describedBody, describing } from './operation.ts'
import type { Operation } from './operation.ts'
import * as s from './parts.ts'
import { ID_SCHEMAS, schemasOf } from './resource-schemas.ts'

/** Returns the tag of the operations on a resource. */
export const tagOf: Reader<{ readonly name: string; readonly description: string }> = ({
  kind,
  words: { about },
}) => ({ name: namesOf(kind).titles, description: about })

const BAD_BODY = {
  '409': 'There are as many as there may be, or there is one of that name.',
  '422': 'A field is wrong or missing; details.problems has those that are.',
}
const OF_PLATFORM = {
  '403': 'For anything but reading: a session without its `X-CSRF-Token`.',
  '503': 'The database is unavailable. Try again.',
}
const OF_ANOTHER_SERVICE = {
  '502': 'The service that keeps it, or a provider, gives no good answer.',
  '504': 'The service that keeps it, or a provider, takes too long.',
}
const NOT_NOW = {
  '409': 'It was changed meanwhile. Try again.',
  '422': 'The action is not for one that is as this is.',
}
const CHANGED = {
  '409': 'It has to stay: the message says why.',
  '412': 'It was changed meanwhile: it has another version.',
}
const dryRun = s.flag('dry_run', 'Only check the fields, and answer them as they would be kept.')
const ifMatch = s.parameter('If-Match', 'header', {
  description: 'The version that the change is for, in quotes. Without it, it is for any.',
})

/** Describes the operations on a resource. */
export function operationsOf<Owner, Row extends Identified>(declaration: Shown<Owner, Row>) {
  const { kind, fields, under, most, actions, verbs, secret, words } = declaration
  const { plural, title, type } = namesOf(kind)
  const schemas = namedSchemas(declaration)
  const { row, values, withSecret } = schemas
  const operation = describingOf(declaration)
  const body = describedBody(schemas.request, { example: exampleOf(fields) })
  const [end] = endOf(declaration)
  const made = secret && !secret.isOfActions ? withSecret : row
  const either = { 'application/json': { schema: { oneOf: [row, values] } } }
  const asItIs = {
    description: 'As it is now; with dry_run, the fields as they would be kept.',
    content: either,
  }
  const act = (name: string, { text, done, makesSecret }: (typeof actions)[string]): Operation =>
    operation(`${name}${type}`, `${title}: ${text}`, {
      200: [done, makesSecret ? withSecret : row],
      ...NOT_NOW,
    })
  return {
    list: operation(`list${type}s`, `The ${plural} of the ${under.noun}, ${most} at the most`, {
      200: ['All of them.', schemas.all],
    }),
    create: operation(`create${type}`, `Create ${one(kind)}`, {
      ...forFiles(declaration),
      description: words.about,
      parameters: [dryRun],
      body,
      200: ['They are good, and would be kept so; with dry_run.', values],
      201: ['It is created.', made, s.location('Where it is.')],
      ...BAD_BODY,
    }),
    get: operation(`get${type}`, `Get ${one(kind)}`, { 200: row }),
    change: operation(`change${type}`, `Change ${one(kind)}`, {
      ...(!verbs.create && forFiles(declaration)),
      parameters: [ifMatch, dryRun],
      body,
      200: asItIs,
      ...CHANGED,
      ...BAD_BODY,
    }),
    remove: operation(`delete${type}`, `${end} ${one(kind)}`, {
      ...(words.deletes !== undefined && { description: words.deletes }),
      parameters: [ifMatch],
      204: 'It is deleted.',
      ...CHANGED,
      '409': 'It cannot be deleted now.',
    }),
    actions: Object.fromEntries(
      Object.entries(actions).map(([name, action]) => [name, act(name, action)]),
    ),
  }
}

/** What all operations on a resource have in common. */
function describingOf<Owner, Row extends Identified>({
  kind,
  id,
  rights,
  ...declaration
}: Shown<Owner, Row>) {
  const { noun, titles } = namesOf(kind)
  const isOfPlatform = rights.read === 'platform-admin'
  const none = isOfPlatform
    ? `No such ${noun}, or no session of an administrator of the platform; no token is taken.`
    : `The organization has no such ${noun}.`
  return describing({
    tag: titles,
    ...(isOfPlatform && { security: [{ session: [] }] }),
    parameters:
      id === 'uuid' ? [] : [s.parameter(`${kind}_id`, 'path', { schema: ID_SCHEMAS[id] })],
    ...(isOfPlatform && OF_PLATFORM),
    ...(declaration.isRecordedElsewhere && OF_ANOTHER_SERVICE),
    '404': none,
  })
}

/** The schemas of a resource, which are made once the document is asked for. */
function namedSchemas<Owner, Row extends Identified>(declaration: Shown<Owner, Row>) {
  const { type } = namesOf(declaration.kind)
  let made: Record<string, object> | undefined
  const named = (end: string) =>
    s.named(`${type}${end}`, () => (made ??= schemasOf(declaration))[`${type}${end}`] ?? {})
  return {
    row: named(''),
    all: named('s'),
    request: named('Request'),
    values: named('Values'),
    withSecret: named('WithSecret'),
  }
}

/**
 * Returns what a program needs to keep a kind in files: what names its rows, where its parents are
 * listed, which scope changes it, and how one is made that is not created here. Secret fields are
 * `writeOnly`, fixed ones `x-fixed`. Nothing for a kind whose rows files cannot name, or never
 * change. It stands at the operation that creates a row, or else at the one that changes it.
 */
function forFiles<Owner, Row extends Identified>(declaration: Shown<Owner, Row>): object {
  const { kind, under, most, fields, facts, verbs, scope, secret, words } = declaration
  const { identity = 'name' } = declaration
  const isThere = Object.hasOwn({ ...fields, ...facts }, identity)
  if (!isNamed(under) || !scope || !verbs.change || !isThere) return {}
  const path = under.path.replace(/\/:\w+$/, '')
  const list = path.slice(path.lastIndexOf('/') + 1).replaceAll('-', '_')
  const parent = { noun: under.noun, path: `${API}${path}`, list, ...under.listed }
  const own = { kind, list: namesOf(kind).list, identity, most, scope }
  const made = secret && !secret.isOfActions && { makes_secret: secret.key }
  return { 'x-resource': { ...own, ...(under.listed && { parent }), ...made, made: words.made } }
}

/** Tells whether files can name what rows belong to. */
function isNamed<Owner>({ path, listed }: Parent<Owner>): boolean {
  const { length } = path.match(/:\w+/g) ?? []
  return length === 0 || (length === 1 && listed !== undefined)
}

const one = (kind: string): string => {
  const { noun } = namesOf(kind)
  return `${/^([aeiou]|LLM)/i.test(noun) ? 'an' : 'a'} ${noun}`
}

/** Returns a path as documents have it: `{project_id}` for `:projectId`. */
export const toTemplate = (path: string): string =>
  path.replaceAll(
    /:(\w+)/g,
    (_, name: string) => `{${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}}`,
  )

const exampleOf = (fields: Fields): object =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { look }]) =>
      look.example === undefined ? [] : [[name, look.example]],
    ),
  )
