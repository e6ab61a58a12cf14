import * as v from 'valibot'
import { readBounded } from '../../../shared/http/read-bounded.ts'
import type { PreflightContext } from '../context.ts'
import { describeOutage, failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'

const DOCUMENT_BYTES_MAX = 256 * 1024

const discoveryDocument = v.object({ issuer: v.string(), jwks_uri: v.pipe(v.string(), v.url()) })
const keySet = v.object({
  keys: v.array(v.looseObject({ kty: v.string(), use: v.optional(v.string()) })),
})

/** The identity provider answers at its discovery endpoint, and publishes keys that sign. */
export async function checkIdentity(context: PreflightContext): Promise<Result> {
  const { issuer, authProvider: provider } = context.installation
  if (issuer === undefined) return skipped('people sign in with passwords')
  const result = await examine(issuer, context.signal)
  return { ...result, provider }
}

async function examine(issuer: string, signal: AbortSignal): Promise<Result> {
  const url = `${issuer}/.well-known/openid-configuration`
  try {
    const { status, json } = await getJson(url, signal)
    if (status !== 200) {
      return failed('idp_http_error', `HTTP ${status} from the discovery endpoint`)
    }
    const document = v.safeParse(discoveryDocument, json)
    if (!document.success) {
      return failed('idp_document_incomplete', 'HTTP 200 without a discovery document')
    }
    const { issuer: named, jwks_uri: keysUrl } = document.output
    if (named.replace(/\/+$/, '') !== issuer) {
      const error = `issuer mismatch: configured is ${issuer}, the document names ${named}`
      return failed('idp_issuer_mismatch', error)
    }
    return await examineKeys(keysUrl, signal)
  } catch (thrown) {
    return failed('idp_unreachable', describeOutage(thrown))
  }
}

async function examineKeys(url: string, signal: AbortSignal): Promise<Result> {
  const { status, json } = await getJson(url, signal)
  const parsed = v.safeParse(keySet, json)
  if (status !== 200 || !parsed.success) {
    return failed('idp_keys_missing', `HTTP ${status} without a key set from ${url}`)
  }
  const signing = parsed.output.keys.filter(({ kty, use }) => kty !== 'oct' && use !== 'enc')
  if (signing.length === 0) return failed('idp_keys_missing', `no key that signs at ${url}`)
  return passed(['discovery', 'issuer', 'signing_keys'], { signing_keys: signing.length })
}

async function getJson(
  url: string,
  signal: AbortSignal,
): Promise<{ status: number; json: unknown }> {
  const headers = { accept: 'application/json' }
  const response = await fetch(url, { headers, redirect: 'manual', signal })
  const text = await readBounded(response, DOCUMENT_BYTES_MAX)
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson()), text)
  return { status: response.status, json: parsed.success ? parsed.output : undefined }
}
