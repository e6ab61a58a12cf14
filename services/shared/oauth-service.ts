import * as v from 'valibot'
import { deadline } from './deadline.ts'
import { AppError, toError } from './errors.ts'
import type { ErrorCode } from './errors.ts'

/** Longer than the service waits for a provider, and for the refresh of another replica. */
const TIMEOUT_MS = 30_000
const BYTES_MAX = 1 << 20

/** The OAuth service, and the key of its callers. */
export interface OauthServiceAccess {
  readonly url: string
  readonly apiKey: string
}

interface OauthServiceCall {
  readonly path: string
  /** @default GET */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly body?: object
  /** Who asked for the call, for the audit of the service. */
  readonly actor?: object | undefined
  /** @default 30_000 */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/**
 * Returns the access to the OAuth service; undefined where the variables name none, or where its
 * key is missing.
 */
export function oauthServiceOf(variables: {
  readonly PLATFORM_OAUTH_API_BASE_URL?: string | undefined
  readonly PLATFORM_OAUTH_API_KEY?: string | undefined
}): OauthServiceAccess | undefined {
  const { PLATFORM_OAUTH_API_BASE_URL: url, PLATFORM_OAUTH_API_KEY: apiKey } = variables
  return url === undefined || apiKey === undefined ? undefined : { url, apiKey }
}

/** The header that tells the service who asked for a call: base64url of JSON. */
export const ACTOR_HEADER = 'x-acting-for'

/** The codes of the service that mean the same to its callers. */
const PASSED_ON: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  422: 'unprocessable',
  502: 'bad_gateway',
  503: 'unavailable',
  504: 'timeout',
}

/**
 * Calls the OAuth service and returns its answer, as JSON. Raises what the service raises, with its
 * message and details, and `unavailable` where it cannot be reached.
 */
export async function callOauthService(
  { url, apiKey }: OauthServiceAccess,
  { path, method = 'GET', body, actor, timeoutMs = TIMEOUT_MS, signal }: OauthServiceCall,
): Promise<unknown> {
  const limit = { name: 'The OAuth service', timeoutMs, ...(signal ? { signal } : {}) }
  return deadline(limit, async (ended) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(actor === undefined
          ? {}
          : { [ACTOR_HEADER]: Buffer.from(JSON.stringify(actor)).toString('base64url') }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: 'error',
      signal: ended,
    }).catch((thrown: unknown) => {
      ended.throwIfAborted()
      throw unavailable(thrown)
    })
    const answer = parse(await readText(response))
    if (response.ok) return answer
    throw errorOf(response.status, answer)
  })
}

const tokenSchema = v.object({
  access_token: v.string(),
  expires_at: v.nullable(v.pipe(v.string(), v.isoTimestamp())),
  header: v.string(),
  prefix: v.string(),
  hosts: v.array(v.string()),
})
/** The access token of a connection. Nothing of it is ever logged or shown. */
export type ConnectionToken = v.InferOutput<typeof tokenSchema>

interface TokenCall {
  readonly connectionId: string
  /** The run that needs it; undefined: none does yet. */
  readonly runId?: string | undefined
  readonly signal?: AbortSignal
}

/** Returns a token of a connection that is good for a while yet. Raises as `callOauthService`. */
export async function getConnectionToken(
  access: OauthServiceAccess,
  { connectionId, runId, signal }: TokenCall,
): Promise<ConnectionToken> {
  const path = `/connections/${connectionId}/token`
  const body = runId === undefined ? {} : { body: { kickoff_id: runId } }
  const call = { path, method: 'POST', ...body, ...(signal ? { signal } : {}) } as const
  return readAnswer(tokenSchema, await callOauthService(access, call))
}

/** Reads an answer of the OAuth service. Raises `bad_gateway` for another one. */
export function readAnswer<Schema extends v.GenericSchema>(
  schema: Schema,
  answer: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, answer)
  if (result.success) return result.output
  throw new AppError('bad_gateway', 'The OAuth service gave an answer that cannot be used.')
}

async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > BYTES_MAX) {
      throw new AppError('bad_gateway', `The OAuth service answers more than ${BYTES_MAX} bytes.`)
    }
  }
  return text + decoder.decode()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const problem = v.object({
  message: v.string(),
  details: v.optional(v.record(v.string(), v.unknown()), {}),
})

function errorOf(status: number, answer: unknown): AppError {
  const given = v.safeParse(problem, answer)
  const code = PASSED_ON[status]
  if (given.success && code) {
    const { message, details } = given.output
    return new AppError(code, message, { details })
  }
  const advice =
    status === 401
      ? 'It does not accept PLATFORM_OAUTH_API_KEY: compare the key on both sides.'
      : 'Its log has the details.'
  return new AppError('bad_gateway', `The OAuth service answers with HTTP ${status}. ${advice}`)
}

function unavailable(thrown: unknown): AppError {
  const { cause } = toError(thrown)
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
  return new AppError('unavailable', `The OAuth service cannot be reached${code}. Try again.`, {
    details: { code: 'oauth_service_unreachable' },
    cause: thrown,
  })
}
