import { declaredRights } from '../../gate/callers/declared-right.ts'
import type { Mounted } from '../../gate/callers/declared-right.ts'
import { READS, scopesFor } from '../../gate/callers/organization.ts'
import { isRole } from '../../gate/callers/right.ts'
import type { Right } from '../../gate/callers/right.ts'
import { toTemplate } from './describe-resource.ts'
import type { Answer, Operation, Path } from './operation.ts'
import * as s from './parts.ts'

/** Describes the routes that say something of themselves, by their paths. */
export function describeRoutes(routes: readonly Mounted[]): Record<string, Path> {
  const rights = new Map(declaredRights(routes))
  const paths: Record<string, Path> = {}
  for (const { method, path, handler } of routes) {
    if (!isDescribed(handler)) continue
    const template = toTemplate(path)
    const right = rights.get(`${method} ${path}`)
    const { operation } = handler
    const { parameters = parametersOf(template), ...others } = paths[template] ?? {}
    const own = operation.parameters?.filter((each) => each.in === 'path') ?? []
    paths[template] = {
      parameters: parameters.map((each) => own.find(({ name }) => name === each.name) ?? each),
      ...others,
      [method.toLowerCase()]: describe(operation, { method, template, right }),
    }
  }
  return paths
}

const isDescribed = (handler: object): handler is { readonly operation: Operation } =>
  'operation' in handler && handler.operation !== undefined

interface Place {
  readonly method: string
  readonly template: string
  /** Absent where the route looks after its callers itself. */
  readonly right: Right | undefined
}

function describe(operation: Operation, place: Place): object {
  const { tag, body, parameters: all = [], ...own } = operation
  const parameters = all.filter((each) => each.in !== 'path')
  const answers = { ...errorsAt(place), ...body?.errors, ...operation }
  const responses = Object.keys(answers).flatMap((status) => {
    const answer = isStatus(status) ? answers[Number(status)] : undefined
    return answer === undefined ? [] : [[status, toResponse(status, answer)]]
  })
  return {
    tags: [tag],
    ...(place.right === 'anybody' && { security: [] }),
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !isStatus(name))),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: body.content } }),
    responses: Object.fromEntries(responses),
  }
}

const isStatus = (name: string): boolean => /^\d{3}$/.test(name)

/** With these, a header says when to try again. */
const WAITS: ReadonlySet<string> = new Set(['429', '503'])

const SENTENCES: Readonly<Record<string, string>> = {
  200: 'As it is now.',
  201: 'It is created.',
  202: 'A worker does it.',
}

function toResponse(status: string, answer: Answer): object {
  if (typeof answer === 'string') {
    if (status < '400') return { description: answer }
    return s.problem(answer, WAITS.has(status) ? s.retryAfter : undefined)
  }
  if (s.isNamed(answer)) return toJson(SENTENCES[status] ?? 'It is done.', answer)
  return isSentence(answer) ? toJson(...answer) : answer
}

const toJson = (...[description, schema, headers]: Sentence) => ({
  description,
  ...(headers && { headers }),
  content: { 'application/json': { schema } },
})

type Sentence = Extract<Answer, readonly unknown[]>
const isSentence = (answer: Answer): answer is Sentence => Array.isArray(answer)

/** What any call of a route may be answered, by who may call it and by what its path names. */
function errorsAt({
  method,
  template,
  right,
}: Place): Readonly<Record<number, Answer | undefined>> {
  if (!isRole(right)) return {}
  const names = [...template.matchAll(/\/([a-z-]+)s\/\{\w+\}/g)].map(([, name = '']) => name)
  const scopes = scopesFor(method, template).map((scope) => `\`${scope}\``)
  const session = READS.has(method) ? '' : ', or a session without its `X-CSRF-Token`'
  return {
    ...s.refusedTokens('No token of the whole organization, and no session.'),
    403:
      `Less than the role \`${right}\` in the organization, a token without the scope ` +
      `${scopes.join(' or ')}${session}.`,
    ...(names.length > 0 && {
      404: `The organization has no such ${names.join(' or ').replaceAll('-', ' ')}.`,
    }),
    503: 'The database is unavailable. Try again.',
  }
}

const id = { ...s.integer, minimum: 1, maximum: 2 ** 31 - 1 }
/** What parameters of paths are that are no UUIDs. */
const PARAMETERS: Readonly<Record<string, object>> = {
  project_id: id,
  organization_id: id,
  number: id,
  size: id,
  name: s.text,
  filename: s.text,
  sha256: s.text,
}

const parametersOf = (template: string) =>
  [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = PARAMETERS[name]
    return s.parameter(name, 'path', schema && { schema })
  })
