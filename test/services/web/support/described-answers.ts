import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Hono } from 'hono'
import type { WebApp } from '../../../../services/web/context.ts'
import { describeApi } from '../../../../services/web/openapi/describe-api.ts'

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
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const paths = Object.entries(document.paths).map(([template, path]) => ({
    path,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`),
  }))
  const { fetch } = app
  app.fetch = async (request, ...rest) => {
    const response = await fetch(request, ...rest)
    const { pathname } = new URL(request.url)
    const asked = request.method === 'HEAD' ? 'get' : request.method.toLowerCase()
    const found = paths.find(({ pattern }) => pattern.test(pathname))?.path[asked]
    // No address of the whole service has a NUL.
    if (!found || response.status === 500 || request.url.includes('%00')) return response
    const problem = await problemOf(found, response.clone(), (schema, body) => {
      const validate = ajv.compile({ components: document.components, ...schema })
      return validate(body) ? undefined : ajv.errorsText(validate.errors)
    })
    if (problem === undefined) return response
    throw new Error(`openapi.json lacks an answer of ${asked} ${pathname}: ${problem}`)
  }
  return app
}

async function problemOf(
  { responses }: Operation,
  response: Response,
  check: (schema: object, body: unknown) => string | undefined,
): Promise<string | undefined> {
  const answer = responses[String(response.status)]
  const text = `${response.status} ${response.headers.get('content-type')}`
  if (!answer) return text
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (answer.content === undefined) return type === '' ? undefined : text
  const content = answer.content[type]
  if (!content) return text
  if (!type.endsWith('json')) return undefined
  const body = await response.text()
  return body === '' ? undefined : check(content.schema, JSON.parse(body))
}
