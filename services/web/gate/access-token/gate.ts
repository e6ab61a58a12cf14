import type { TokenPolicy } from '../../../platform/automations/automation-oauth.ts'
import { claimRules } from './claim-rules.ts'
import { clientRules } from './client-rules.ts'
import type { KeySource } from './fetch-keys.ts'
import { headerRules } from './header-rules.ts'
import type { KeyStore } from './key-store.ts'
import { parseToken } from './parse-token.ts'
import type { ParsedToken, ParseResult } from './parse-token.ts'
import { claimOf, firstRefusal } from './rule.ts'
import type { Facts, Reason, Rule } from './rule.ts'
import { createSignatures, findCandidates } from './verify-signature.ts'
import type { SignatureResult } from './verify-signature.ts'
import type { VerifiedTokens } from './verified-tokens.ts'

/** The rules in the order in which they decide; between the two lists stands the signature. */
export const RULES = { unsigned: headerRules, signed: [...claimRules, ...clientRules] } as const

/**
 * The settings of the automation's own organization that a token has to meet; never chosen by the
 * token (SPEC 5.2).
 */
export interface TokenContext {
  readonly organizationId: number
  readonly settings: TokenPolicy & KeySource
  readonly boundClient: string | null
  /** Decide once the signature is good. @default `RULES.signed` */
  readonly signed?: readonly Rule[]
}

/** The decision about a token. */
export type Verdict =
  | { readonly accepted: true; readonly parsed: ParsedToken }
  | {
      readonly accepted: false
      readonly reason: Reason
      /** Present if the signature holds, so that the claims are the identity provider's words. */
      readonly parsed?: ParsedToken
    }

/** Options of `createGate`. */
interface GateOptions {
  readonly keys: KeyStore
  readonly verified: VerifiedTokens
  /** In milliseconds. */
  readonly now: () => number
}

/** Decides about the access tokens of callers. */
export interface Gate {
  /** Decides whether a token may call an automation. */
  decide(token: string, context: TokenContext): Promise<Verdict>
  /** Refuses a token for which there is no automation, in the time that `decide` takes. */
  refuse(token: string): Promise<Reason>
}

/** Creates a gate. It parses before any cryptography, and asks nobody but the key store. */
export function createGate({ keys, verified, now }: GateOptions): Gate {
  const signatures = createSignatures()

  // One by one: on each call, a spread would cost more than the rules.
  const factsOf = (parsed: ParsedToken, context: TokenContext): Facts => ({
    header: parsed.header,
    claims: parsed.claims,
    client: parsed.client,
    audiences: parsed.audiences,
    dates: parsed.dates,
    policy: context.settings,
    boundClient: context.boundClient,
    nowSeconds: now() / 1000,
  })

  async function decide(token: string, context: TokenContext): Promise<Verdict> {
    const entry = verified(token)
    const { known } = entry
    const read: ParseResult = known ? { ok: true, parsed: known.parsed } : parseToken(token)
    if (!read.ok) return { accepted: false, reason: read.reason }
    const { parsed } = read
    const unsigned = firstRefusal(RULES.unsigned, factsOf(parsed, context))
    if (unsigned) return { accepted: false, reason: unsigned }
    const set = keys.of(context.organizationId, context.settings)
    const candidates = await findCandidates(parsed.header, set)
    const signature: SignatureResult =
      known && candidates?.includes(known.key)
        ? { ok: true, key: known.key }
        : await signatures.verify({ token, header: parsed.header }, candidates)
    if (!signature.ok)
      return { accepted: false, reason: reasonFor(signature.reason, parsed, context) }
    const reason = firstRefusal(context.signed ?? RULES.signed, factsOf(parsed, context))
    if (reason) {
      entry.drop()
      return { accepted: false, reason, parsed }
    }
    if (signature.key !== known?.key) entry.keep({ parsed, key: signature.key })
    return { accepted: true, parsed }
  }

  return { decide, refuse: signatures.refuseAsDecoy }
}

/**
 * Discloses that the keys cannot be had only to a token that names the issuer of this organization:
 * to any other, the difference would disclose that there is such an automation.
 */
function reasonFor(reason: Reason, { claims }: ParsedToken, { settings }: TokenContext): Reason {
  const isStranger = claimOf(claims, 'iss') !== settings.issuer
  return reason === 'idp_unavailable' && isStranger ? 'unknown_key' : reason
}
