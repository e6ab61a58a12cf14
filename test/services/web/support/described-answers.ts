import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv'
import type { Hono } from 'hono'
import type { WebApp } from '../../../../services/web/context.ts'
import { describeApi } from '../../../../services/web/api/openapi/describe-api.ts'

interface Content {
  readonly schema: object
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
export function checkAnswers(
  app: Hono<WebApp>,
  config: Parameters<typeof describeApi>[0],
): Hono<WebApp> {
  // The document is ours; what it lacks is told below.
  const document = describeApi(config) as unknown as {
    readonly paths: Readonly<Record<string, Path>>
    readonly components: object
  }
  const validatorOf = validatorsOf({ paths: document.paths, components: document.components })
  const paths = Object.entries(document.paths).map(([template, path]) => ({
    path,
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
  }))
  const { fetch } = app
  app.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest)
    const { pathname } = new URL(request.url)
    const asked = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const { path, template = '' } = paths.find(({ pattern }) => pattern.test(pathname)) ?? {}
    const found = path?.[asked]
    // No address of the whole service has a NUL.
    if (!found || response.status === 500 || request.url.includes('%00')) return response
    const problem = await problemOf(found, response.clone(), (place, body) => {
      const validate = validatorOf(['paths', template, asked, ...place])
      return validate(body) ? undefined : ajv.errorsText(validate.errors)
    })
    if (problem === undefined) return response
    throw new Error(`openapi.json lacks an answer of ${asked} ${pathname}: ${problem}`)
  }
  return app
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
/** What all apps share: a schema takes far longer to compile than an answer to check. */
const known = new Map<string, (keys: readonly string[]) => ValidateFunction>()

/** What checks a value against the schema at a place of a document. */
function validatorsOf(document: object): (keys: readonly string[]) => ValidateFunction {
  const text = JSON.stringify(document)
  const found = known.get(text)
  if (found) return found
  const id = `document-${known.size}`
  ajv.addSchema({ ...document, $id: id })
  const validators = new Map<string, ValidateFunction>()
  const validatorOf = (keys: readonly string[]): ValidateFunction => {
    const $ref = [`${id}#`, ...keys.map(toPointer)].join('/')
    const validate = validators.get($ref) ?? ajv.compile({ $ref })
    validators.set($ref, validate)
    return validate
  }
  known.set(text, validatorOf)
  return validatorOf
}

const toPointer = (key: string): string =>
  encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))

async function problemOf(
  { responses }: Operation,
  response: Response,
  check: (place: readonly string[], body: unknown) => string | undefined,
): Promise<string | undefined> {
  const status = String(response.status)
  const answer = responses[status]
  const text = `${response.status} ${response.headers.get('content-type')}`
  if (!answer) return text
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (answer.content === undefined) return type === '' ? undefined : text
  const content = answer.content[type]
  if (!content) return text
  if (!type.endsWith('json')) return undefined
  const body = await response.text()
  const place = ['responses', status, 'content', type, 'schema']
  return body === '' ? undefined : check(place, JSON.parse(body))
}
