import * as v from 'valibot'
import { createProviderFetch, rebuild } from '../shared/outgoing/provider-fetch.ts'
import type { ProviderFetch, ProviderFetchOptions } from '../shared/outgoing/provider-fetch.ts'

/** As `createProviderFetch`; answers that differ from the standard in known ways are put right. */
export function createTolerantFetch(options: ProviderFetchOptions): ProviderFetch {
  const fetchFromProvider = createProviderFetch(options)
  return async function fetchTolerantly(url, request) {
    const response = await fetchFromProvider(url, request)
    return request.method === 'POST' ? toStandardAnswer(response, await response.text()) : response
  }
}

const answerSchema = v.looseObject({
  error: v.optional(v.string()),
  access_token: v.optional(v.string()),
  token_type: v.optional(v.string()),
})

/**
 * GitHub and Slack report errors with the status 200, Slack names the kind of user instead of the
 * token type, and Notion answers `null` where it has no refresh token.
 */
function toStandardAnswer(response: Response, text: string): Response {
  const answer = v.safeParse(answerSchema, parseJson(text))
  if (response.status !== 200 || !answer.success) return rebuild(response, text)
  const { error, access_token: accessToken, token_type: tokenType } = answer.output
  if (error !== undefined && accessToken === undefined)
    return rebuild(response, JSON.stringify({ error }), 400)
  const given = Object.entries(answer.output).filter(([, value]) => value !== null)
  const isOdd = tokenType === 'bot' || tokenType === 'user'
  const fields = { ...Object.fromEntries(given), ...(isOdd ? { token_type: 'bearer' } : {}) }
  return rebuild(response, JSON.stringify(fields))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
