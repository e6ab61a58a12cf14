import { createHash } from 'node:crypto'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { TokenScope } from './token-limits.ts'

/** Returns what the database keeps of a token. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** How a token is used. */
export interface TokenUse {
  /** What it has to be for: one of these. */
  readonly scopes: readonly TokenScope[]
  /** Where the call comes from; undefined where that is not known. */
  readonly address: string | undefined
}

/** Why a token that is known opens nothing. */
export type TokenRefusal = 'token_expired' | 'address_not_allowed' | 'insufficient_scope'

/** A token that was found, and what keeps it from being used, if anything does. */
type FoundToken<Token> = Token & { readonly refusal: TokenRefusal | undefined }

interface Checked {
  readonly scopes: readonly TokenScope[]
  readonly isExpired: boolean
  readonly isElsewhere: boolean
  readonly isStale: boolean
}

const checks = (sql: Queryable, { address }: Pick<TokenUse, 'address'>) => sql`
  t.scopes, coalesce(t.expires_at <= now(), false) as is_expired,
  t.networks <> '{}' and not coalesce(${address ?? null}::inet <<= any (t.networks), false)
    as is_elsewhere,
  coalesce(t.last_used_at < now() - interval '1 minute', true) as is_stale`

function refusalOf(token: Checked, { scopes }: TokenUse): TokenRefusal | undefined {
  if (token.isExpired) return 'token_expired'
  if (token.isElsewhere) return 'address_not_allowed'
  return scopes.some((each) => token.scopes.includes(each)) ? undefined : 'insufficient_scope'
}

/** Marks a token as used, at most once a minute. */
async function useToken<Token extends { readonly id: number }>(
  sql: Queryable,
  found: (Token & Checked) | undefined,
  use: TokenUse,
): Promise<FoundToken<Token> | undefined> {
  if (!found) return undefined
  const refusal = refusalOf(found, use)
  if (refusal === undefined && found.isStale) {
    await sql`
      update static_tokens set last_used_at = now(), last_used_address = ${use.address ?? null}
      where id = ${found.id}`
  }
  return { ...found, refusal }
}

interface NamedToken {
  readonly id: number
  readonly name: string
  readonly scopes: readonly TokenScope[]
}

/** A token with what it may be used for. */
export type FoundAutomationToken = FoundToken<NamedToken>

/** Returns the token if it is one for the automation. Undefined for any other token. */
export async function findAutomationToken(
  sql: Queryable,
  token: string,
  { automation, ...use }: TokenUse & { automation: { id: number; organizationId: number } },
): Promise<FoundAutomationToken | undefined> {
  const [found] = await sql<(NamedToken & Checked)[]>`
    select t.id, t.name, ${checks(sql, use)} from static_tokens t
    where t.token_hash = ${hashOf(token)} and t.revoked_at is null
      and t.organization_id = ${automation.organizationId}
      and (t.deployment_id is null or t.deployment_id = ${automation.id})`
  return useToken(sql, found, use)
}

/** The organization that a token belongs to, and the one automation that it is for; null: all. */
interface TokenReach {
  readonly organizationId: number
  readonly deploymentId: number | null
}

/**
 * Returns a token wherever it may be used. Undefined where its organization takes access tokens of
 * its identity provider alone.
 */
export async function findToken(
  sql: Queryable,
  token: string,
  use: TokenUse,
): Promise<(FoundAutomationToken & TokenReach) | undefined> {
  const [found] = await sql<(NamedToken & TokenReach & Checked)[]>`
    select t.id, t.name, t.organization_id, t.deployment_id, ${checks(sql, use)}
    from static_tokens t left join automation_oauth o on o.organization_id = t.organization_id
    where t.token_hash = ${hashOf(token)} and t.revoked_at is null
      and coalesce(not o.enabled or o.static_tokens_allowed, true)`
  return useToken(sql, found, use)
}

/** The organization that a token opens as a whole. */
interface OrganizationToken {
  readonly id: number
  readonly name: string
  readonly organizationId: number
  /** The platform's own organization. */
  readonly internal: boolean
}

/** Returns the organization of a token that is valid for all of it. */
export async function findOrganizationToken(
  sql: Queryable,
  token: string,
  use: TokenUse,
): Promise<FoundToken<OrganizationToken> | undefined> {
  const [found] = await sql<(OrganizationToken & Checked)[]>`
    select t.id, t.name, t.organization_id, o.internal, ${checks(sql, use)}
    from static_tokens t join organizations o on o.id = t.organization_id
    where t.token_hash = ${hashOf(token)} and t.revoked_at is null and t.deployment_id is null`
  return useToken(sql, found, use)
}
