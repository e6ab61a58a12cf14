import * as v from 'valibot'

const SAID_CHARACTERS_MAX = 500

const errorBody = v.object({
  error: v.union([v.string(), v.object({ message: v.string() })]),
})

/** What an endpoint answered instead of a completion. */
export interface Refusal {
  readonly status: number
  readonly body: string
}

/**
 * Returns a provider's reason for a refusal, ready to follow `HTTP 401`; without the key, which
 * some providers repeat.
 */
export function readRefusal(body: string, key: string | undefined): string {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), errorBody), body)
  if (!result.success) return '.'
  const { error } = result.output
  const said = typeof error === 'string' ? error : error.message
  const safe = key === undefined ? said : said.replaceAll(key, '[key]')
  // Also other keys, and those that the provider has shortened by itself.
  const clean = safe.replace(/\b(sk|pk|key)-[\w*.-]{4,}/gi, '[key]')
  return `: ${clean.slice(0, SAID_CHARACTERS_MAX)}`
}

/** Tells whether a refusal by `chat/completions` sends the caller to `responses`. */
export const asksForResponses = ({ status, body }: Refusal): boolean =>
  (status === 400 || status === 404) && /\bv1\/responses\b/.test(body)

/**
 * Tells whether a refusal says that a service tier has no room. OpenAI bills nothing for it, and
 * advises to ask without the tier.
 */
export const lacksCapacity = ({ status, body }: Refusal): boolean =>
  status === 503 || (status === 429 && /resource.?(unavailable|exhausted)/i.test(body))

/**
 * Returns the name that `chat/completions` of a host has for the limit of tokens. OpenAI's own
 * endpoint has renamed it and refuses the old name for newer models; the others know the old one.
 */
export const limitFor = (host: string): string =>
  host === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens'
