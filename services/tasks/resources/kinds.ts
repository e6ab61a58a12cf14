import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'

/** A field of a kind. */
interface KindField {
  readonly isRequired: boolean
  /** It is sent, and never answered. */
  readonly isSecret: boolean
  /** Decided when a row is created. */
  readonly isFixed: boolean
  /** undefined: there is none. */
  readonly default: unknown
}

/** What rows of a kind belong to, and where the API lists it. */
export interface ParentKind {
  readonly noun: string
  readonly path: string
  /** The name of the list in its answers. */
  readonly list: string
  /** The names, in its answers, of what paths have and of what files name it by. */
  readonly id: string
  readonly name: string
}

/** What can be kept in files, as the platform describes it. */
export interface Kind {
  readonly kind: string
  /** The path of its list, with the id of the parent in braces. */
  readonly path: string
  readonly list: string
  /** The field that names a row. */
  readonly identity: string
  readonly most: number
  readonly scope: string
  /** undefined: rows belong to the organization. */
  readonly parent: ParentKind | undefined
  /** How one is made; undefined: by files, too. */
  readonly made: string | undefined
  /** The secret in the answer that creates a row, which is shown nowhere else. */
  readonly makesSecret: string | undefined
  /** Rows come from elsewhere: files create none. */
  readonly isGiven: boolean
  readonly isDeletable: boolean
  readonly fields: Readonly<Record<string, KindField>>
}

const described = v.object({
  kind: v.string(),
  list: v.string(),
  identity: v.string(),
  most: v.number(),
  scope: v.string(),
  parent: v.optional(
    v.object({
      noun: v.string(),
      path: v.string(),
      list: v.string(),
      id: v.string(),
      name: v.string(),
    }),
  ),
  made: v.optional(v.string()),
  makes_secret: v.optional(v.string()),
})
const operation = v.object({
  'x-resource': described,
  requestBody: v.object({
    content: v.object({ 'application/json': v.object({ schema: v.object({ $ref: v.string() }) }) }),
  }),
})
const request = v.object({
  required: v.optional(v.array(v.string()), []),
  properties: v.record(
    v.string(),
    v.object({
      default: v.optional(v.unknown()),
      writeOnly: v.optional(v.boolean(), false),
      'x-fixed': v.optional(v.boolean(), false),
    }),
  ),
})
const api = v.object({
  paths: v.record(v.string(), v.record(v.string(), v.unknown())),
  components: v.object({ schemas: v.record(v.string(), v.unknown()) }),
})

/** Reads the kinds from the description of an API. Raises `bad_gateway` where there are none. */
export function readKinds(document: unknown): Kind[] {
  const parsed = v.safeParse(api, document)
  const { paths, components } = parsed.success
    ? parsed.output
    : { paths: {}, components: { schemas: {} } }
  const kinds = Object.entries(paths).flatMap(([at, { post, put, delete: remove }]) => {
    const found = v.safeParse(operation, post ?? put)
    if (!found.success) return []
    const isGiven = post === undefined
    const path = isGiven ? at.replace(/\/[^/]+$/, '') : at
    const { 'x-resource': resource, requestBody } = found.output
    const name = requestBody.content['application/json'].schema.$ref.replace(/^.*\//, '')
    const { required, properties } = v.parse(request, components.schemas[name])
    const { makes_secret: makesSecret, parent, made: how, ...rest } = resource
    const fields = Object.entries(properties).map(([field, property]): [string, KindField] => [
      field,
      {
        isRequired: required.includes(field),
        isSecret: property.writeOnly,
        isFixed: property['x-fixed'],
        default: property.default,
      },
    ])
    const made = { makesSecret, isGiven, isDeletable: !isGiven || remove !== undefined, made: how }
    return [{ ...rest, path, parent, ...made, fields: Object.fromEntries(fields) }]
  })
  if (kinds.length > 0) return kinds
  throw new AppError(
    'bad_gateway',
    'The platform describes nothing that is kept in files. Look at --url, and at its version.',
  )
}
