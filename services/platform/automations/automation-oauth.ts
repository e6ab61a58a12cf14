import type { Queryable } from '../../shared/postgres/database.ts'
import { automationColumns, isUuid } from './automations.ts'
import type { Automation } from './automations.ts'

/** Asymmetric ones only: whoever can check a signature must not be able to make one. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const
/** A signature algorithm of access tokens. */
export type Algorithm = (typeof ALGORITHMS)[number]

/** The claims that may hold the scope: `scope` is `scope` and `scp`. */
export const SCOPE_CLAIMS = ['scope', 'roles'] as const

/** The requirements on the access tokens of an organization (SPEC 5.2, 5.3). */
export interface TokenPolicy {
  /** Compared byte for byte, with its slash or without. */
  readonly issuer: string
  /** One at least; a token has to name one of them. */
  readonly audiences: readonly string[]
  /** A token that names no audience at all is good too, as some providers issue. */
  readonly absentAudienceAllowed: boolean
  readonly scope: string
  readonly scopeClaim: (typeof SCOPE_CLAIMS)[number]
  readonly algorithms: readonly Algorithm[]
  readonly skewSeconds: number
  readonly lifetimeSecondsMax: number
}

/** OAuth 2.0 for Automations of one organization. */
export interface AutomationOauth extends TokenPolicy {
  readonly enabled: boolean
  /** null: found at the well-known places of the issuer. */
  readonly discoveryUrl: string | null
  /** null: the one of the discovery document. */
  readonly jwksUrl: string | null
  /** The token endpoint for callers; only the examples that are shown to them use it. */
  readonly tokenUrl: string | null
  /** While `enabled`; otherwise static tokens are the one mode there is. */
  readonly staticTokensAllowed: boolean
}

const columns = (sql: Queryable) => sql`
  o.enabled, o.issuer, o.discovery_url, o.jwks_url, o.token_url, o.audiences,
  o.absent_audience_allowed, o.scope,
  o.scope_claim, o.algorithms, o.skew_seconds, o.lifetime_seconds_max, o.static_tokens_allowed`

/** The settings of an organization, if it ever made any. */
export async function findAutomationOauth(
  sql: Queryable,
  organizationId: number,
): Promise<AutomationOauth | undefined> {
  const [found] = await sql<AutomationOauth[]>`
    select ${columns(sql)} from automation_oauth o where o.organization_id = ${organizationId}`
  return found
}

/**
 * Stores the settings of an organization. The database refuses what could not be checked, such as
 * no audience.
 */
export async function saveAutomationOauth(
  sql: Queryable,
  organizationId: number,
  settings: AutomationOauth,
): Promise<void> {
  const row = {
    ...settings,
    audiences: [...settings.audiences],
    algorithms: [...settings.algorithms],
  }
  await sql`
    insert into automation_oauth ${sql({ organizationId, ...row })}
    on conflict (organization_id) do update set ${sql({ ...row })}, updated_at = now()`
}

/** An automation with what decides who may call it. */
export interface CallableAutomation {
  readonly automation: Automation
  /** Undefined: its organization never set OAuth up. */
  readonly oauth: AutomationOauth | undefined
}

/**
 * An automation that callers start and the settings of its organization, in one statement: each
 * call of the API asks for them.
 */
export async function findCallableAutomation(
  sql: Queryable,
  automationId: string,
): Promise<CallableAutomation | undefined> {
  if (!isUuid(automationId)) return undefined
  const [found] = await sql<(Automation & AutomationOauth & { enabled: boolean | null })[]>`
    select ${automationColumns(sql)}, ${columns(sql)}
    from deployments left join automation_oauth o on o.organization_id = deployments.organization_id
    where deployments.automation_id = ${automationId} and deployments.tests_project_id is null`
  if (!found) return undefined
  return { automation: found, oauth: found.enabled === null ? undefined : found }
}

/**
 * The settings of the one organization of an installation that has no other, beside the platform's
 * own. With several, none is found: a token does not choose whose settings it has to meet.
 */
export async function findOnlyAutomationOauth(
  sql: Queryable,
): Promise<(AutomationOauth & { readonly organizationId: number }) | undefined> {
  const [found] = await sql<(AutomationOauth & { organizationId: number })[]>`
    select o.organization_id, ${columns(sql)}
    from automation_oauth o join organizations on organizations.id = o.organization_id
    where not internal and (select count(*) from organizations where not internal) = 1`
  return found
}

/**
 * The authorization servers that any organization uses, with their scopes. At most two: more than
 * one is nobody's business.
 */
export async function listAuthorizationServers(
  sql: Queryable,
): Promise<{ issuer: string; scope: string }[]> {
  return sql<{ issuer: string; scope: string }[]>`
    select distinct issuer, scope from automation_oauth where enabled order by issuer limit 2`
}
