import { RULES } from './gate.ts'
import type { TokenContext } from './gate.ts'
import { hintsFor } from './hints.ts'
import type { KeyStore } from './key-store.ts'
import { parseToken } from './parse-token.ts'
import type { Facts, Reason, Rule } from './rule.ts'
import { show, claimOf } from './rule.ts'
import { createSignatures, findCandidates } from './verify-signature.ts'

/** The outcome of one rule. */
interface ExplainedRule {
  readonly name: string
  /** Undefined if the rule passes. */
  readonly reason: Reason | undefined
  readonly seen: string
  readonly expected: string
}

/** The outcome of all rules for one token. */
export interface Explanation {
  /** The reason of the API's refusal; undefined if it would accept the token. */
  readonly reason: Reason | undefined
  readonly rules: readonly ExplainedRule[]
  readonly hints: readonly string[]
}

/** Options of `explainToken`. */
interface ExplainOptions {
  readonly keys: KeyStore
  /** In milliseconds. */
  readonly now: () => number
}

/**
 * Holds a token against every rule that the gate decides by, also those behind the first that
 * fails. The token is neither stored nor logged, and being explained does not make it known to the
 * gate.
 */
export async function explainToken(
  token: string,
  context: TokenContext,
  { keys, now }: ExplainOptions,
): Promise<Explanation> {
  const read = parseToken(token)
  const shape = {
    name: 'Shape',
    reason: read.ok ? undefined : read.reason,
    seen: read.ok ? 'header, payload, signature' : read.why,
    expected: 'a signed JWT: three parts of base64url, JSON without members that are there twice',
  }
  if (!read.ok) {
    const { reason } = read
    return { reason, rules: [shape], hints: hintsFor({ token, reasons: [reason] }) }
  }
  const { settings, boundClient, signed = RULES.signed } = context
  const facts: Facts = { ...read.parsed, policy: settings, boundClient, nowSeconds: now() / 1000 }
  const unsigned = RULES.unsigned.map((rule) => explain(rule, facts))
  const isHeaderGood = unsigned.every(({ reason }) => reason === undefined)
  const signature = await explainSignature(token, { facts, context, keys, isHeaderGood })
  const rules = [shape, ...unsigned, signature, ...signed.map((rule) => explain(rule, facts))]
  const reasons = rules.flatMap(({ reason }) => reason ?? [])
  return { reason: reasons[0], rules, hints: hintsFor({ token, reasons, facts }) }
}

const explain = (rule: Rule, facts: Facts): ExplainedRule => ({
  name: rule.name,
  reason: rule.check(facts),
  seen: rule.seen(facts),
  expected: rule.expected(facts),
})

interface SignatureQuestion {
  readonly facts: Facts
  readonly context: TokenContext
  readonly keys: KeyStore
  readonly isHeaderGood: boolean
}

async function explainSignature(
  token: string,
  { facts, context, keys, isHeaderGood }: SignatureQuestion,
): Promise<ExplainedRule> {
  const expected = `made with a key of ${show(facts.policy.issuer)}`
  // A header that is refused picks no key.
  if (!isHeaderGood)
    return { name: 'Signature', reason: 'bad_signature', seen: 'not checked: see above', expected }
  const { header } = facts
  const set = keys.of(context.organizationId, context.settings)
  const result = await createSignatures().verify(
    { token, header },
    await findCandidates(header, set),
  )
  return {
    name: 'Signature',
    reason: result.ok ? undefined : result.reason,
    seen: result.ok
      ? 'good'
      : `${WORDS[result.reason] ?? 'bad'}, kid ${show(claimOf(header, 'kid'))}`,
    expected,
  }
}

const WORDS: Partial<Record<Reason, string>> = {
  unknown_key: 'no such key is published',
  bad_signature: 'does not fit the key',
  idp_unavailable: 'not checked: the keys cannot be fetched',
}
