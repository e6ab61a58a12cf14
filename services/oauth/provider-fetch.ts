import type { CustomFetchOptions } from 'openid-client'
import * as v from 'valibot'
import { deadline } from '../shared/deadline.ts'
import { AppError } from '../shared/errors.ts'

const RESPONSE_BYTES_MAX = 256 << 10

export interface ProviderFetchOptions {
  readonly provider: string
  readonly timeoutMs: number
}

/**
 * The one way to a provider: a deadline that also covers the body, at most 256 KiB, no redirect followed.
 * Raises `timeout` and `bad_gateway`; answers that differ from the standard in known ways are put right.
 */
export function createProviderFetch({ provider, timeoutMs }: ProviderFetchOptions) {
  return async function fetchFromProvider(
    url: string,
    { method, headers, body }: CustomFetchOptions,
  ): Promise<Response> {
    const name = `Provider ${provider} at ${new URL(url).host}`
    return deadline({ name, timeoutMs }, async (signal) => {
      const request = { method, headers, body: body ?? null, redirect: 'manual', signal } as const
      const response = await fetch(url, request).catch((thrown: unknown) => {
        signal.throwIfAborted()
        throw unreachable(name, thrown)
      })
      if (response.status >= 300 && response.status < 400) {
        await response.body?.cancel()
        throw badAnswer(`${name} answered with a redirect, which is not followed.`)
      }
      const text = await readText(response, name)
      return method === 'POST' ? toStandardAnswer(response, text) : rebuild(response, text)
    })
  }
}

async function readText(response: Response, name: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength
      // Leaving the loop cancels the stream: nothing of the rest is read.
      if (size > RESPONSE_BYTES_MAX) break
      chunks.push(chunk)
    }
  } catch (thrown) {
    throw unreachable(name, thrown)
  }
  if (size > RESPONSE_BYTES_MAX)
    throw badAnswer(`${name} answered more than ${RESPONSE_BYTES_MAX} bytes.`)
  return Buffer.concat(chunks).toString('utf8')
}

const answerSchema = v.looseObject({
  error: v.optional(v.string()),
  access_token: v.optional(v.string()),
  token_type: v.optional(v.string()),
})

/** GitHub and Slack report errors with the status 200, and Slack names the kind of user instead of the token type. */
function toStandardAnswer(response: Response, text: string): Response {
  const answer = v.safeParse(answerSchema, parseJson(text))
  if (response.status !== 200 || !answer.success) return rebuild(response, text)
  const { error, access_token: accessToken, token_type: tokenType } = answer.output
  if (error !== undefined && accessToken === undefined)
    return rebuild(response, JSON.stringify({ error }), 400)
  if (tokenType !== 'bot' && tokenType !== 'user') return rebuild(response, text)
  return rebuild(response, JSON.stringify({ ...answer.output, token_type: 'bearer' }))
}

function rebuild(response: Response, text: string, status = response.status): Response {
  const headers = new Headers()
  for (const name of ['content-type', 'www-authenticate']) {
    const value = response.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const isEmpty = status === 204 || status === 205
  return new Response(isEmpty ? null : text, { status, headers })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What fetch raises says no more than "fetch failed"; its cause has the code, such as ECONNREFUSED. */
function unreachable(name: string, thrown: unknown): AppError {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new AppError('bad_gateway', `${name} could not be reached${code}. Try again.`, {
    details: { code: 'provider_unreachable' },
    headers: { 'retry-after': '5' },
  })
}

function badAnswer(message: string): AppError {
  return new AppError('bad_gateway', message, { details: { code: 'provider_bad_answer' } })
}
