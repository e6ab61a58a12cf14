import {
  body,
  json,
  location,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
} from './parts.ts'
import { ID_SCHEMAS, schemasOf } from './resource-schemas.ts'
import type {
  Action,
  Fields,
  Identified,
  Parent,
  Reader,
  Shown,
} from '../../resources/declaration.ts'
import { endOf, namesOf } from '../../resources/names.ts'
import { API, pathsOf } from '../../resources/rights.ts'

/** A part of an OpenAPI document. */
export interface Described {
  readonly tag: { readonly name: string; readonly description: string }
  readonly paths: Readonly<Record<string, object>>
  readonly schemas: Readonly<Record<string, object>>
}

/** Describes the API of a resource as OpenAPI 3.1. */
export const describeResource: Reader<Described> = (declaration) => {
  const { titles } = namesOf(declaration.kind)
  return {
    tag: { name: titles, description: declaration.words.about },
    paths: pathsOfApi(declaration),
    schemas: schemasOf(declaration),
  }
}

const BAD_BODY = {
  '400': problem('The body is not JSON.'),
  '409': problem('There are as many as there may be, or there is one of that name.'),
  '413': problem('The body is larger than 256 KiB.'),
  '415': problem('Not application/json.'),
  '422': problem('A field is wrong or missing; details.problems has those that are.'),
}
const OF_PLATFORM = {
  '403': problem('For anything but reading: a session without its `X-CSRF-Token`.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem(
    'A role in the organization, or a scope of the token, that does not allow this; for anything ' +
      'but reading, a session without its `X-CSRF-Token`.',
  ),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}

const OF_ANOTHER_SERVICE = {
  '502': problem('The service that keeps it, or a provider, gives no good answer.'),
  '504': problem('The service that keeps it, or a provider, takes too long.'),
}
const NOT_NOW = {
  '409': problem('It was changed meanwhile. Try again.'),
  '422': problem('The action is not for one that is as this is.'),
}

function pathsOfApi<Owner, Row extends Identified>(
  declaration: Shown<Owner, Row>,
): Record<string, object> {
  const { kind, id, fields, actions, rights, isRecordedElsewhere } = declaration
  const { noun, titles } = namesOf(kind)
  const list = toTemplate(`${API}${pathsOf(declaration).list}`)
  const one = `${list}/{${kind}_id}`
  const owner = [...list.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter(name, 'path'))
  const format = id === 'uuid' ? {} : { schema: ID_SCHEMAS[id] }
  const parameters = [...owner, parameter(`${kind}_id`, 'path', format)]
  const isOfPlatform = rights.read === 'platform-admin'
  const told: Told = {
    requestBody: body(`${namesOf(kind).type}Request`, exampleOf(fields)),
    common: {
      ...(isOfPlatform ? OF_PLATFORM : COMMON),
      ...(isRecordedElsewhere && OF_ANOTHER_SERVICE),
      '404': problem(
        isOfPlatform
          ? `No such ${noun}, or no session of an administrator of the platform; no token is taken.`
          : `The organization has no such ${noun}.`,
      ),
    },
    operation: (operationId, summary, rest) => ({
      operationId,
      tags: [titles],
      summary,
      ...(isOfPlatform && { security: [{ session: [] }] }),
      ...rest,
    }),
  }
  return {
    [list]: { parameters: owner, ...ofList(declaration, told) },
    [one]: { parameters, ...ofRow(declaration, told) },
    ...Object.fromEntries(
      Object.entries(actions).map(([name, action]) => [
        `${one}/${name}`,
        { parameters, post: ofAction(kind, { name, ...action }, told) },
      ]),
    ),
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

/** What all operations of a resource say. */
interface Told {
  readonly requestBody: object
  readonly common: Readonly<Record<string, object>>
  readonly operation: (operationId: string, summary: string, rest: object) => object
}

function ofList<Owner, Row extends Identified>(
  declaration: Shown<Owner, Row>,
  { requestBody, common, operation }: Told,
): object {
  const { kind, under, most, verbs, words, secret } = declaration
  const { plural, type } = namesOf(kind)
  const made = secret && !secret.isOfActions ? `${type}WithSecret` : type
  return {
    get: operation(`list${type}s`, `The ${plural} of the ${under.noun}, ${most} at the most`, {
      responses: { '200': json('All of them.', `${type}s`), ...common },
    }),
    ...(verbs.create !== undefined && {
      post: operation(`create${type}`, `Create ${one(kind)}`, {
        ...forFiles(declaration),
        description: words.about,
        parameters: [dryRun],
        requestBody,
        responses: {
          '200': json('They are good, and would be kept so; with dry_run.', `${type}Values`),
          '201': json('It is created.', made, location('Where it is.')),
          ...common,
          ...BAD_BODY,
        },
      }),
    }),
  }
}

const dryRun = parameter('dry_run', 'query', {
  description: 'Only check the fields, and answer them as they would be kept.',
  schema: { type: 'boolean', default: false },
})
const ifMatch = parameter('If-Match', 'header', {
  description: 'The version that the change is for, in quotes. Without it, it is for any.',
})
const asItIs = (type: string) => ({
  description: 'As it is now; with dry_run, the fields as they would be kept.',
  content: {
    'application/json': { schema: { oneOf: [schema(type), schema(`${type}Values`)] } },
  },
})
const changed = {
  '409': problem('It has to stay: the message says why.'),
  '412': problem('It was changed meanwhile: it has another version.'),
}

function ofRow<Owner, Row extends Identified>(
  declaration: Shown<Owner, Row>,
  { requestBody, common, operation }: Told,
): object {
  const { kind, verbs, words } = declaration
  const { type } = namesOf(kind)
  const [end] = endOf(declaration)
  return {
    get: operation(`get${type}`, `Get ${one(kind)}`, {
      responses: { '200': json('It.', type), ...common },
    }),
    ...(verbs.change !== undefined && {
      put: operation(`change${type}`, `Change ${one(kind)}`, {
        ...(!verbs.create && forFiles(declaration)),
        parameters: [ifMatch, dryRun],
        requestBody,
        responses: { '200': asItIs(type), ...common, ...changed, ...BAD_BODY },
      }),
    }),
    ...(verbs.remove !== undefined && {
      delete: operation(`delete${type}`, `${end} ${one(kind)}`, {
        description: words.deletes,
        parameters: [ifMatch],
        responses: {
          '204': { description: 'It is deleted.' },
          ...common,
          ...changed,
          '409': problem('It cannot be deleted now.'),
        },
      }),
    }),
  }
}

function ofAction<Owner, Row>(
  kind: string,
  { name, text: verb, done, makesSecret }: Action<Owner, Row> & { readonly name: string },
  { common, operation }: Told,
): object {
  const { title, type } = namesOf(kind)
  const answer = makesSecret ? `${type}WithSecret` : type
  return operation(`${name}${type}`, `${title}: ${verb}`, {
    responses: { '200': json(done, answer), ...common, ...NOT_NOW },
  })
}

const one = (kind: string): string => {
  const { noun } = namesOf(kind)
  return `${/^([aeiou]|LLM)/i.test(noun) ? 'an' : 'a'} ${noun}`
}

const toTemplate = (path: string): string =>
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
