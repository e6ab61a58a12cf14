import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { OrganizationRole } from '../people/memberships.ts'
import { findStaticToken } from './static-tokens.ts'
import { NETWORKS_MAX, readNetworks } from './token-limits.ts'
import type { TokenLimits, TokenScope } from './token-limits.ts'

/** What is said of a token when it is issued. */
export interface StaticTokenFields {
  readonly name: string
  /** The slug of the automation that it is for; null: all of the organization. */
  readonly automation: string | null
  readonly deploymentId: number | null
  readonly scopes: readonly TokenScope[]
  /** null: for ever. */
  readonly days: number | null
  readonly networks: readonly string[]
  /** The token whose place it takes. */
  readonly replaces: number | null
}

interface Surroundings {
  readonly organizationId: number
  /** The longest life of a token, in days; 0: any. */
  readonly daysMax: number
}

/** Returns fields as they are kept. Raises `unprocessable`. */
export async function readStaticToken(
  sql: Queryable,
  { organizationId, daysMax }: Surroundings,
  fields: Omit<StaticTokenFields, 'deploymentId'>,
): Promise<StaticTokenFields> {
  const { automation, scopes, days, replaces } = fields
  if (daysMax > 0 && (days === null || days > daysMax)) {
    throw new AppError(
      'unprocessable',
      `Tokens of this platform end after at most ${daysMax} days.`,
    )
  }
  if (replaces !== null && !(await findStaticToken(sql, { id: replaces, organizationId }))) {
    throw new AppError('unprocessable', `Your organization has no token ${replaces} to replace.`)
  }
  return {
    name: fields.name.trim(),
    automation,
    deploymentId: automation === null ? null : await getId(sql, { organizationId, automation }),
    scopes: [...new Set(scopes)],
    days,
    networks: networksOf(fields.networks),
    replaces,
  }
}

async function getId(
  sql: Queryable,
  { organizationId, automation }: { organizationId: number; automation: string },
): Promise<number> {
  const [found] = await sql<[{ id: number }?]>`
    select id from deployments
    where organization_id = ${organizationId} and slug = ${automation} and tests_project_id is null`
  if (found) return found.id
  throw new AppError(
    'unprocessable',
    `Your organization has no automation with the slug "${automation.slice(0, 100)}".`,
  )
}

function networksOf(words: readonly string[]): readonly string[] {
  const networks = readNetworks(words.join(' '))
  if ('wrong' in networks) {
    throw new AppError(
      'unprocessable',
      `"${networks.wrong.slice(0, 60)}" is neither an address nor a network, such as 192.0.2.7 ` +
        'or 192.0.2.0/24.',
    )
  }
  if (networks.length <= NETWORKS_MAX) return networks
  throw new AppError('unprocessable', `Name at most ${NETWORKS_MAX} networks.`)
}

/** What a token is to issue. @default what: The new token */
type Issued = TokenLimits & { readonly what?: string }

/**
 * Refuses to let a token issue what may do more than itself, longer, or from elsewhere. It is not
 * deleted until the transaction ends. Raises `forbidden`, and `invalid_token` for one that is.
 */
export async function requireWithin(
  sql: Queryable,
  tokenId: number,
  { what = 'The new token', scopes, expiresAt, networks }: Issued,
): Promise<void> {
  const [token] = await sql<[{ hasScopes: boolean; lasts: boolean; isThere: boolean }?]>`
    select scopes @> ${[...scopes]}::text[] as has_scopes,
      coalesce(expires_at >= ${expiresAt}::timestamptz, expires_at is null) as lasts,
      networks = '{}' or (${networks.length > 0} and not exists (
        select from unnest(${[...networks]}::text[]::cidr[]) network
        where not network <<= any (networks))) as is_there
    from static_tokens
    where id = ${tokenId} and revoked_at is null and coalesce(expires_at > now(), true)
    for share`
  if (!token) throw new AppError('invalid_token', 'The token is deleted, or has ended.')
  const problem =
    (!token.hasScopes && 'has a scope that the token which calls lacks') ||
    (!token.lasts && 'would last longer than the token which calls') ||
    (!token.isThere &&
      'could be used from addresses that the token which calls cannot be used from')
  if (problem) throw new AppError('forbidden', `${what} ${problem}.`)
}

/** What a token has to be for to do what a role may. */
const ROLE_SCOPES: Readonly<Record<Exclude<OrganizationRole, 'admin'>, readonly TokenScope[]>> = {
  viewer: ['read'],
  editor: ['read', 'kickoff', 'design', 'upload'],
}

/**
 * Refuses to let a token give a role that may do more than itself, or from elsewhere: none makes an
 * admin. Raises `forbidden`, and `invalid_token` for a token that is deleted.
 */
export async function requireGrantable(
  sql: Queryable,
  tokenId: number,
  role: OrganizationRole,
): Promise<void> {
  if (role === 'admin') {
    throw new AppError('forbidden', 'A token makes no admin: an admin does, in the console.')
  }
  const what = `The role ${role}`
  // Like a schedule, a membership stays when the token ends.
  const limits = { scopes: ROLE_SCOPES[role], expiresAt: new Date(), networks: [] }
  await requireWithin(sql, tokenId, { what, ...limits })
}
