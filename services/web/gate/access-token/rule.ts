import type { TokenPolicy } from '../../../platform/automations/automation-oauth.ts'

/**
 * The reasons to refuse a token. All but the disclosed ones go to the log and the explain tool
 * only.
 */
export type Reason =
  | 'oauth_off'
  | 'too_long'
  | 'malformed_token'
  | 'encrypted_token'
  | 'algorithm_not_allowed'
  | 'wrong_type'
  | 'untrusted_key_header'
  | 'unsupported_extension'
  | 'malformed_key_id'
  | 'unknown_key'
  | 'idp_unavailable'
  | 'bad_signature'
  | 'other_audiences'
  | 'claim_mismatch'
  | DisclosedReason

/** The reasons that the bearer of a well-signed token learns. */
export type DisclosedReason =
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'malformed_date'
  | 'token_expired'
  | 'token_not_yet_valid'
  | 'lifetime_too_long'
  | 'id_token'
  | 'sender_constrained'
  | 'missing_client_claim'
  | 'invalid_client_claim'
  | 'client_claim_conflict'
  | 'automation_not_bound'
  | 'client_mismatch'
  | 'insufficient_scope'

/** A JSON object whose members are not known. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The client of a token, or the reason why it has none. */
export type ClientClaim =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly reason: Reason }

/** In seconds since 1970. */
export interface Dates {
  readonly iat: number
  readonly exp: number
  /** `iat` where the token has none. */
  readonly nbf: number
}

/** The payload of a token, and what is read from it. */
export interface ReadClaims {
  readonly claims: JsonObject
  readonly client: ClientClaim
  /** Empty also if one of them is not a string. */
  readonly audiences: readonly string[]
  /** Undefined if one of them is missing or no date. */
  readonly dates: Dates | undefined
}

/** The input of all rules. They see no clock, no network and no database. */
export interface Facts extends ReadClaims {
  readonly header: JsonObject
  readonly policy: TokenPolicy
  /** The OAuth client id of the automation; null or empty: not bound. */
  readonly boundClient: string | null
  readonly nowSeconds: number
}

/** One rule for tokens. `seen` and `expected` are texts for the people who configure them. */
export interface Rule {
  readonly name: string
  readonly check: (facts: Facts) => Reason | undefined
  readonly seen: (facts: Facts) => string
  readonly expected: (facts: Facts) => string
}

/** Returns the first reason to refuse a token; undefined if all rules pass. */
export function firstRefusal(rules: readonly Rule[], facts: Facts): Reason | undefined {
  for (const { check } of rules) {
    const reason = check(facts)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Returns a claim as it stands in the token; undefined if it is absent. */
export const claimOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

const SHOWN_MAX = 300

/** Shows a value to people, cut at 300 characters. */
export function show(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}

/** Shows the claims of these names that are present, for people; `absent` without any. */
export const showClaims = (object: JsonObject, names: readonly string[]): string =>
  names
    .filter((name) => Object.hasOwn(object, name))
    .map((name) => `${name}: ${show(object[name])}`)
    .join(', ') || 'absent'
