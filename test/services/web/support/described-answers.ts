import { dereference, initialBaseURI, validate } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'
import type { Hono } from 'hono'
import type { WebApp } from '../../../../services/web/context.ts'
import { describeApi } from '../../../../services/web/api/openapi/describe-api.ts'

interface Content {
  readonly schema: Schema
}
interface Answer {
  readonly content?: Readonly<Record<string, Content>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Answer>>
}
type Path = Readonly<Record<string, Operation | undefined>>

/**
 * Makes an app fail when it gives an answer that its OpenAPI document lacks: another status,
 * another type of content, or a body that does not fit the schema.
 */
export function checkAnswers(app: Hono<WebApp>, config: Config): Hono<WebApp> {
  const { fetch } = app
  app.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest)
    const { pathname } = new URL(request.url)
    const asked = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const api = describeOnce(config, app)
    const { path } = api.paths.find(({ pattern }) => pattern.test(pathname)) ?? {}
    const found = path?.[asked]
    // No address of the whole service has a NUL.
    if (!found || response.status === 500 || request.url.includes('%00')) return response
    // Other bodies are left alone: they may be streams, which a client may give up. JSON is read
    // and given again, which takes half of the work that a clone does.
    const isJson = /json(;|$)/.test(response.headers.get('content-type') ?? '')
    const body = isJson ? await response.text() : ''
    const problem = problemOf(found, { response, body }, api.problemOf)
    if (problem === undefined) return isJson ? new Response(body, response) : response
    throw new Error(`openapi.json lacks an answer of ${asked} ${pathname}: ${problem}`)
  }
  return app
}

type Config = Parameters<typeof describeApi>[0]
/** What all apps of one configuration share. */
const known = new Map<string, ReturnType<typeof describe>>()

/** The paths of a document, and what is wrong with a value by a schema of it. */
function describeOnce(config: Config, app: Hono<WebApp>) {
  const { PLATFORM_BASE_URL: baseUrl, PLATFORM_API_PREFIX: prefix, PLATFORM_VERSION } = config
  const key = JSON.stringify([baseUrl, prefix, PLATFORM_VERSION])
  const described = known.get(key) ?? describe(config, app)
  known.set(key, described)
  return described
}

function describe(config: Config, { routes }: Hono<WebApp>) {
  // A copy, which the validator marks, without examples: it would read an `id` of theirs as the
  // name of a schema. What the document lacks is told below.
  const document = JSON.parse(JSON.stringify(describeApi(config, routes), withoutExamples)) as {
    readonly paths: Readonly<Record<string, Path>>
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  // They are interpreted: to compile them takes each worker of the tests several seconds.
  const places: Record<string, Schema | boolean> = {}
  const place = (schema: Schema, pointer: string): unknown =>
    dereference(schema, places, initialBaseURI, pointer)
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas)) place(schema, `/components/schemas/${name}`)
  const placed = new Set<Schema>()
  const paths = Object.entries(document.paths).map(([template, path]) => ({
    path,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
  }))
  const problemOf = (schema: Schema, value: unknown): string | undefined => {
    if (!placed.has(schema)) place(schema, `/answers/${placed.add(schema).size}`)
    const { errors } = validate(value, schema, '2020-12', places)
    return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).at(-1)
  }
  return { paths, problemOf }
}

const withoutExamples = (key: string, value: unknown): unknown =>
  key === 'example' || key === 'examples' ? undefined : value

function problemOf(
  { responses }: Operation,
  { response, body }: { readonly response: Response; readonly body: string },
  check: (schema: Schema, body: unknown) => string | undefined,
): string | undefined {
  const status = String(response.status)
  const answer = responses[status]
  const text = `${response.status} ${response.headers.get('content-type')}`
  if (!answer) return text
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (answer.content === undefined) return type === '' ? undefined : text
  const content = answer.content[type]
  if (!content) return text
  if (!type.endsWith('json')) return undefined
  return body === '' ? undefined : check(content.schema, JSON.parse(body))
}
