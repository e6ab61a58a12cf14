import { MATCHER_CARD, MATCHER_EMAIL, MATCHER_IBAN, MATCHER_PRIVATE_KEY } from '../limits.ts'

/** Something to look for, and the function of the transcoder that has the last word. */
export interface Sought {
  /** Its name in marks and in the metric. */
  readonly kind: string
  /** In the language of `expression.ts`; only its head counts when there is a matcher. */
  readonly expression: string
  readonly matcher?: number
  /** It begins where a word begins. */
  readonly isWord?: boolean
  /** It has a digit behind its first characters: words of a language are no keys. */
  readonly hasDigit?: boolean
}

const key = (expression: string, more: Partial<Sought> = {}): Sought => ({
  kind: 'key',
  expression,
  isWord: true,
  ...more,
})

const email = (expression: string): Sought => ({
  kind: 'email',
  expression,
  matcher: MATCHER_EMAIL,
})

const WITH_DIGIT = { hasDigit: true }

/** The shapes of well-known keys and tokens, from the documents of those who issue them. */
const KEYS: readonly Sought[] = [
  // OpenAI, Anthropic and those that follow them; Stripe.
  key('sk-[A-Za-z0-9_-]{16,}', WITH_DIGIT),
  key('[srp]k_live_[A-Za-z0-9]{16,}'),
  key('[srp]k_test_[A-Za-z0-9]{16,}'),
  key('whsec_[A-Za-z0-9+/=]{24,}'),
  key('gsk_[A-Za-z0-9]{32,}'),
  key('xai-[A-Za-z0-9]{32,}', WITH_DIGIT),
  key('pplx-[A-Za-z0-9]{32,}'),
  key('hf_[A-Za-z0-9]{30,}'),
  key('r8_[A-Za-z0-9]{30,}'),
  key('tvly-[A-Za-z0-9-]{20,}', WITH_DIGIT),
  key('lsv2_[A-Za-z0-9_]{30,}'),
  // Clouds.
  key('A[KS]IA[A-Z0-9]{16}'),
  key('AIza[A-Za-z0-9_-]{35}'),
  key('ya29\\.[A-Za-z0-9_-]{20,}'),
  key('GOCSPX-[A-Za-z0-9_-]{20,}'),
  key('dop_v1_[a-f0-9]{64}'),
  // Forges and registries.
  key('gh[opsur]_[A-Za-z0-9]{36,}'),
  key('github_pat_[A-Za-z0-9_]{22,}'),
  key('glpat-[A-Za-z0-9_-]{20,}'),
  key('npm_[A-Za-z0-9]{36}'),
  key('pypi-[A-Za-z0-9_-]{50,}'),
  // Services.
  key('xox[abeoprs]-[A-Za-z0-9-]{10,}', WITH_DIGIT),
  key('xapp-[A-Za-z0-9-]{10,}', WITH_DIGIT),
  key('SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}'),
  key('shp[a-z]{2}_[a-fA-F0-9]{32}'),
  key('sq0[a-z]{3}-[A-Za-z0-9_-]{22,}'),
  key('AGE-SECRET-KEY-1[A-Z0-9]{50,}'),
  // A JWT, signed or not.
  key('eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]*'),
  // The Authorization header.
  key('[Bb]earer [A-Za-z0-9._~+/=-]{8,}', WITH_DIGIT),
  key('[Bb]earer [A-Za-z0-9._~+/=-]{20,}'),
  key('BEARER [A-Za-z0-9._~+/=-]{8,}', WITH_DIGIT),
  key('[Bb]asic [A-Za-z0-9+/=]{12,}', WITH_DIGIT),
  { kind: 'key', expression: 'BEGIN ', matcher: MATCHER_PRIVATE_KEY },
]

/** The kinds that `COLLECTOR_REDACT` can name, but for the operator's own. */
export const BUILT_IN = {
  cards: [{ kind: 'card', expression: '[2-6]\\d{3}', matcher: MATCHER_CARD }],
  keys: KEYS,
  // The sign is the second byte, or written in one of two other ways.
  emails: [email('.@.'), email('%40'), email('\\\\u0040')],
  ibans: [{ kind: 'iban', expression: '[A-Z]{2}\\d{2}', matcher: MATCHER_IBAN }],
} as const satisfies Readonly<Record<string, readonly Sought[]>>
