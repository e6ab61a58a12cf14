import { errors, jwtVerify, SignJWT } from 'jose'
import type { JWTPayload } from 'jose'
import { isOrganizationName } from './organization-name.ts'

/** The `aud` of every token of the collector (SPEC 5.4). */
const AUDIENCE = 'collector'
const LIFETIME_S = 300
const LEEWAY_S = 60
/** A token that cannot be revoked is good for 90 days at the most. */
export const MAX_TOKEN_SECONDS = 90 * 86_400
/** A token with an id, which can be revoked, is good for a year at the most. */
export const MAX_REVOCABLE_SECONDS = 366 * 86_400
/** Characters of the id of a token. */
export const MAX_TOKEN_ID_CHARS = 128

/** What tokens may allow. */
export const COLLECTOR_SCOPES = [
  'traces:write',
  'traces:read',
  'traces:delete',
  'tokens:revoke',
  'prices:write',
  'holds:write',
  'forwards:write',
] as const
/** Something that a token may allow. */
export type CollectorScope = (typeof COLLECTOR_SCOPES)[number]

/** The claims of a token beside its issuer. */
export interface CollectorTokenOptions {
  /** What it allows; old tokens say nothing, and allow both while the collector accepts that. */
  readonly scopes?: readonly CollectorScope[] | undefined
  /** Whose spans it writes and reads; without one it is the platform's own. */
  readonly organization?: string | undefined
  /** Its id, by which it can be revoked. */
  readonly id?: string | undefined
  /** @default 300 */
  readonly seconds?: number | undefined
}

const keyOf = (secret: string): Uint8Array => new TextEncoder().encode(secret)

/**
 * Signs a token for the trace collector: HS256, valid for five minutes unless told otherwise. Each
 * export takes a new one.
 */
export async function signCollectorToken(
  secret: string,
  issuer: string,
  options: CollectorTokenOptions = {},
): Promise<string> {
  const { scopes, organization, id, seconds = LIFETIME_S } = options
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    ...(scopes ? { scope: scopes.join(' ') } : {}),
    ...(organization === undefined ? {} : { org: organization }),
    ...(id === undefined ? {} : { jti: id }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(keyOf(secret))
}

/** The claims of a token; times are seconds since 1970. */
export interface CollectorToken {
  readonly expiresAt: number
  readonly issuedAt: number | undefined
  readonly issuer: string | undefined
  /** Undefined for a token of the platform itself. */
  readonly organization: string | undefined
  /** Undefined for an old token, which has no scope at all. */
  readonly scopes: ReadonlySet<string> | undefined
  /** Undefined for one that cannot be revoked. */
  readonly id: string | undefined
}

/**
 * Verifies a token of the collector against one secret, at `nowMs`; raises jose's errors, also for
 * an organization, a scope or an id that is malformed.
 */
export async function verifyCollectorToken(
  token: string,
  secret: string,
  nowMs = Date.now(),
): Promise<CollectorToken> {
  const { payload } = await jwtVerify(token, keyOf(secret), {
    algorithms: ['HS256'],
    audience: AUDIENCE,
    requiredClaims: ['exp'],
    clockTolerance: LEEWAY_S,
    currentDate: new Date(nowMs),
  })
  const { exp = 0, iat, iss } = payload
  const scope = readClaim(payload, 'scope', isText)
  return {
    expiresAt: exp,
    issuedAt: iat,
    issuer: iss,
    organization: readClaim(payload, 'org', isOrganizationName),
    scopes: scope === undefined ? undefined : new Set(scope.split(' ')),
    id: readClaim(payload, 'jti', isId),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isId = (value: unknown): value is string =>
  isText(value) && value !== '' && value.length <= MAX_TOKEN_ID_CHARS

/** A claim that may be absent, but not be anything else than it should. */
function readClaim(
  payload: JWTPayload,
  name: string,
  isGood: (value: unknown) => value is string,
): string | undefined {
  if (!Object.hasOwn(payload, name)) return undefined
  const value = payload[name]
  if (isGood(value)) return value
  throw new errors.JWTClaimValidationFailed(`"${name}" is malformed`, payload, name, 'check_failed')
}
