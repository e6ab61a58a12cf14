import * as v from 'valibot'
import type { NewConnection } from '../../platform/connections/oauth-connections.ts'
import { AppError } from '../../shared/errors.ts'

const ORGANIZATION_MAX = 2_147_483_647
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const organizationId = v.pipe(
  v.number('must be a number'),
  v.integer('must be a whole number'),
  v.minValue(1, 'must be at least 1'),
  v.maxValue(ORGANIZATION_MAX, `must be at most ${ORGANIZATION_MAX}`),
)

const connectionSchema = v.strictObject(
  {
    organization_id: organizationId,
    provider: v.string('must be a text'),
    name: v.pipe(
      v.string('must be a text'),
      v.regex(
        /^(?!\s)[^\p{Cc}]{1,100}(?<!\s)$/u,
        'must have 1 to 100 characters, no control characters, and no space at its ends',
      ),
    ),
  },
  (issue) => (issue.expected === 'never' ? 'is not known' : 'is required'),
)

/** The connection that a body asks for. Raises `unprocessable` that lists every mistake. */
export function readConnection(body: unknown, providers: readonly string[]): NewConnection {
  const result = v.safeParse(connectionSchema, body)
  if (!result.success) {
    const problems = result.issues.map(
      (issue) => `${v.getDotPath(issue) ?? 'body'} ${issue.message}`,
    )
    throw new AppError('unprocessable', `The body is not valid: ${problems.join('; ')}.`, {
      details: { problems },
    })
  }
  const { organization_id, provider, name } = result.output
  if (!providers.includes(provider)) {
    const known =
      providers.length > 0
        ? `Configured: ${providers.join(', ')}.`
        : 'None is configured: set OAUTH_PROVIDERS.'
    throw new AppError('unprocessable', `There is no provider of that name. ${known}`, {
      details: { code: 'unknown_provider', providers },
    })
  }
  return { organizationId: organization_id, provider, name }
}

const PAGE = { standard: 100, max: 500 }

interface ConnectionPage {
  readonly limit: number
  /** The name of the connection that the page follows; absent: the first page. */
  readonly after?: string | undefined
}

/**
 * Reads `?limit=…&cursor=…`; a cursor is the `next_cursor` of an earlier page. Raises
 * `invalid_request`.
 */
export function readConnectionPage(
  limits: readonly string[] | undefined,
  cursors: readonly string[] | undefined,
): ConnectionPage {
  const [text = String(PAGE.standard), ...more] = limits ?? []
  const limit = /^\d{1,3}$/.test(text) && more.length === 0 ? Number(text) : 0
  if (limit < 1 || limit > PAGE.max) {
    throw new AppError('invalid_request', `limit is given once, as a number from 1 to ${PAGE.max}.`)
  }
  const [after, ...others] = cursors ?? []
  if (others.length > 0 || (after !== undefined && !/^[^\p{Cc}]{1,100}$/u.test(after))) {
    throw new AppError(
      'invalid_request',
      'cursor is given once: the next_cursor of an earlier page.',
    )
  }
  return { limit, after }
}

/** `?organization_id=…`. Raises `invalid_request` when it is not there once. */
export function readOrganizationId(given: readonly string[] | undefined): number {
  const [text = ''] = given ?? []
  const id = given?.length === 1 && /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (v.is(organizationId, id)) return id
  throw new AppError(
    'invalid_request',
    'Give exactly one query parameter organization_id, a number.',
  )
}

/** The id of a path. Raises `not_found` for what cannot be one. */
export function readConnectionId(given: string): string {
  if (UUID.test(given)) return given.toLowerCase()
  throw new AppError('not_found', 'There is no such connection: an id is a UUID.')
}
