import { claimOf } from './rule.ts'
import type { ClientClaim, Dates, JsonObject, ReadClaims } from './rule.ts'

/** The claims in which identity providers name the client (SPEC 5.3). */
export const CLIENT_CLAIMS = ['client_id', 'cid', 'azp'] as const
const CLIENT_ID_LENGTH_MAX = 255

/** Reads what several rules need, once for each token. */
export const readClaims = (claims: JsonObject): ReadClaims => ({
  claims,
  client: readClient(claims),
  audiences: readAudiences(claims),
  dates: readDates(claims),
})

/**
 * Reads the client. Every claim that is present has to be good, and all have to agree: with a
 * fallback, a token could name one client to its issuer and another one here.
 */
function readClient(claims: JsonObject): ClientClaim {
  const present = CLIENT_CLAIMS.filter((name) => Object.hasOwn(claims, name))
  const ids = present.map((name) => claims[name]).filter(isClientId)
  const [id] = ids
  if (present.length === 0) return { ok: false, reason: 'missing_client_claim' }
  if (id === undefined || ids.length < present.length)
    return { ok: false, reason: 'invalid_client_claim' }
  if (ids.some((each) => each !== id)) return { ok: false, reason: 'client_claim_conflict' }
  return { ok: true, id }
}

function isClientId(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= CLIENT_ID_LENGTH_MAX
}

function readAudiences(claims: JsonObject): readonly string[] {
  const audience = claimOf(claims, 'aud')
  const all: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
  const texts = all.filter((each) => typeof each === 'string')
  return texts.length === all.length ? texts : []
}

function readDates(claims: JsonObject): Dates | undefined {
  const { iat, exp } = { iat: claimOf(claims, 'iat'), exp: claimOf(claims, 'exp') }
  const nbf = Object.hasOwn(claims, 'nbf') ? claims['nbf'] : iat
  return isDate(iat) && isDate(exp) && isDate(nbf) ? { iat, exp, nbf } : undefined
}

const isDate = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
