import type { JWK } from 'jose'
import { deadline } from '../../../shared/deadline.ts'
import { toAppError } from '../../../shared/errors.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import { badDocument, readDocument } from './read-document.ts'
import type { DocumentRequest } from './read-document.ts'
import { vetKeys } from './vet-keys.ts'

const FETCH_TIMEOUT_MS = 3000

/** The addresses of the keys of an authorization server. */
export interface KeySource {
  readonly issuer: string
  /** null: the well-known places of the issuer. */
  readonly discoveryUrl: string | null
  /** null: the address that discovery names. */
  readonly jwksUrl: string | null
}

/** The keys of an authorization server. */
interface ProviderKeys {
  readonly keys: readonly JWK[]
  /** The token endpoint; null if discovery was not used or did not name it. */
  readonly tokenUrl: string | null
}

/** One request on the way to the keys, for those who test a configuration. */
export interface FetchStep {
  readonly url: string
  /** Undefined for a request that succeeded. */
  readonly problem: string | undefined
}

/** Options of `fetchKeys`. */
export interface FetchOptions {
  readonly guard: OutgoingGuard
  /** The owner of the authorization server. */
  readonly organizationId: number
  readonly onStep?: (step: FetchStep) => void
}

/**
 * Reads the keys of an authorization server, by discovery unless their address is given, within 3 s
 * in all. Raises `bad_gateway` and `timeout`.
 */
export async function fetchKeys(
  source: KeySource,
  { guard, organizationId, onStep = () => {} }: FetchOptions,
): Promise<ProviderKeys> {
  const name = `The identity provider ${new URL(source.issuer).host}`
  return deadline({ name, timeoutMs: FETCH_TIMEOUT_MS }, async (signal) => {
    const subject = `organization ${organizationId}`
    const read = tellSteps({ signal, guard, subject }, onStep)
    refuseSpellings(source)
    const { jwksUrl, tokenUrl } =
      source.jwksUrl === null
        ? await discover(source, read)
        : { jwksUrl: source.jwksUrl, tokenUrl: null }
    return { keys: await read(jwksUrl, readKeys), tokenUrl }
  })
}

/** An issuer is a name, which is compared as it is; calls go to what parsing it results in. */
function refuseSpellings({ discoveryUrl, jwksUrl }: KeySource): void {
  for (const [name, url] of Object.entries({ discoveryUrl, jwksUrl })) {
    const problem = url === null ? undefined : addressProblem(url)
    if (problem === undefined) continue
    const what = name === 'jwksUrl' ? 'JWKS URL' : 'discovery URL'
    throw badDocument('not_canonical', `The ${what} ${problem}. Save it in that form.`)
  }
}

function readKeys(document: Readonly<Record<string, unknown>>): readonly JWK[] {
  const keys = vetKeys(document)
  if (!keys) throw badDocument('no_keys', 'It is not a set of at most 100 keys.')
  if (keys.length === 0) throw badDocument('no_keys', 'No key in it may check a signature.')
  return keys
}

type Read = <Result>(
  url: string,
  use: (document: Readonly<Record<string, unknown>>) => Result,
) => Promise<Result>

function tellSteps(request: DocumentRequest, onStep: (step: FetchStep) => void): Read {
  return async function read(url, use) {
    try {
      const result = use(await readDocument(url, request))
      onStep({ url, problem: undefined })
      return result
    } catch (thrown) {
      onStep({
        url,
        problem: request.signal.aborted
          ? `It did not answer within ${FETCH_TIMEOUT_MS} ms.`
          : toAppError(thrown).message,
      })
      throw thrown
    }
  }
}

interface Addresses {
  readonly jwksUrl: string
  readonly tokenUrl: string | null
}

/**
 * Reads the addresses from the metadata. Skips a place without metadata; ends with the error of a
 * server that does not answer.
 */
async function discover(source: KeySource, read: Read): Promise<Addresses> {
  let last: unknown
  for (const url of discoveryUrls(source)) {
    try {
      return await read(url, (document) => readMetadata(document, source.issuer))
    } catch (thrown) {
      if (!isOtherPlaceWorthATry(thrown)) throw thrown
      last = thrown
    }
  }
  throw last
}

/**
 * Lists the places of metadata: of OpenID Connect Discovery, of Okta, of RFC 8414 §3.1, and what
 * Spring tries.
 */
function discoveryUrls({ issuer, discoveryUrl }: KeySource): readonly string[] {
  if (discoveryUrl !== null) return [discoveryUrl]
  const { href, origin, pathname } = new URL(issuer)
  const base = href.replace(/\/$/, '')
  const path = pathname.replace(/\/$/, '')
  const all = [
    `${base}/.well-known/openid-configuration`,
    `${base}/.well-known/oauth-authorization-server`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
  return [...new Set(all)]
}

/**
 * Reads the metadata of the configured issuer, byte for byte: a document that names another could
 * lead to the keys of somebody else (RFC 8414 §3.3).
 */
function readMetadata(document: Readonly<Record<string, unknown>>, issuer: string): Addresses {
  const { issuer: found, jwks_uri: jwksUrl, token_endpoint: tokenUrl } = document
  if (found !== issuer) {
    const shown = typeof found === 'string' ? JSON.stringify(found.slice(0, 200)) : 'none'
    throw badDocument(
      'issuer_mismatch',
      `It names the issuer ${shown}, not ${JSON.stringify(issuer)}.`,
    )
  }
  if (!isUrl(jwksUrl)) throw badDocument('no_keys_address', 'It has no jwks_uri.')
  return { jwksUrl, tokenUrl: isUrl(tokenUrl) ? tokenUrl : null }
}

const isUrl = (value: unknown): value is string => typeof value === 'string' && URL.canParse(value)

function isOtherPlaceWorthATry(thrown: unknown): boolean {
  const { problem, status = 0 } = toAppError(thrown).details
  return problem === 'not_json' || (problem === 'http_status' && Number(status) < 500)
}
