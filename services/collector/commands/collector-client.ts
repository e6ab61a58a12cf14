import * as v from 'valibot'
import { signCollectorToken } from '../../shared/collector-token.ts'
import type { CollectorScope } from '../../shared/collector-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { httpUrl, integer } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { isOrganizationName, MAX_ORGANIZATION_CHARS } from '../../shared/organization-name.ts'
import { readSecret } from './options.ts'

/** A collector, and what it takes to ask it. */
export interface Target {
  readonly url: string
  readonly secret: string
  /** For each request, until the head of its response. */
  readonly timeoutMs: number
  /** Whose spans are written or read; undefined for the platform itself. */
  readonly organization: string | undefined
  /** The `iss` of the tokens, and what they allow. */
  readonly issuer: string
  readonly scopes: readonly CollectorScope[]
}

/** The options of a command that asks a collector. */
export const TARGET_OPTIONS = {
  url: { type: 'string' },
  org: { type: 'string' },
  'secret-env': { type: 'string', default: 'COLLECTOR_JWT_SECRET' },
  'timeout-ms': { type: 'string', default: '10000' },
} as const

interface GivenTarget {
  readonly url?: string | undefined
  readonly org?: string | undefined
  readonly 'secret-env': string
  readonly 'timeout-ms': string
}

/** Reads them. Raises `invalid_configuration`; a missing URL with the usage. */
export function readTarget(
  given: GivenTarget,
  source: EnvSource,
  { issuer, scopes, usage }: Pick<Target, 'issuer' | 'scopes'> & { usage: string },
): Target {
  if (given.url === undefined) {
    throw new AppError('invalid_configuration', `--url is required.\n\n${usage}`)
  }
  return {
    url: readOption(httpUrl(), '--url', given.url),
    timeoutMs: readOption(integer(100, 60_000), '--timeout-ms', given['timeout-ms']),
    secret: readSecret(source, given['secret-env']),
    organization:
      given.org === undefined ? undefined : readOption(organization, '--org', given.org),
    issuer,
    scopes,
  }
}

const organization = v.pipe(
  v.string(),
  v.check(
    (given) => isOrganizationName(given),
    `must have 1 to ${MAX_ORGANIZATION_CHARS} characters, none of which is a control character`,
  ),
)

function readOption<Output>(
  schema: v.GenericSchema<unknown, Output>,
  name: string,
  given: string,
): Output {
  const result = v.safeParse(schema, given)
  if (result.success) return result.output
  const message = `${name} ${result.issues[0].message} (given: ${JSON.stringify(given)}).`
  throw new AppError('invalid_configuration', message)
}

/** Asks the collector with a fresh token. Raises `unavailable` when there is no response at all. */
export async function askCollector(
  { url, secret, timeoutMs, issuer, organization, scopes }: Target,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers)
  const claims = { organization, scopes }
  headers.set('authorization', `Bearer ${await signCollectorToken(secret, issuer, claims)}`)
  const given = new AbortController()
  try {
    return await deadline({ name: `${url}${path}`, timeoutMs }, (signal) => {
      signal.addEventListener('abort', () => given.abort(), { once: true })
      return fetch(url + path, { ...init, headers, signal: given.signal, redirect: 'error' })
    })
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    const { cause = thrown } = toError(thrown)
    throw new AppError('unavailable', `${url} cannot be reached: ${toError(cause).message}`)
  }
}
