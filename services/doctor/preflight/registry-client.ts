import * as v from 'valibot'
import { AppError } from '../../shared/errors.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'
import type { RegistryLogin } from './registry-login.ts'

const TOKEN_BYTES_MAX = 256 * 1024
const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')

/** An image by its registry, its path there, and its tag or digest. */
interface Image {
  readonly host: string
  readonly path: string
  readonly reference: string
}

/** Reads `registry.example.com/path/name:tag`. Raises `invalid_request` for anything else. */
export function parseImage(text: string): Image {
  const [, host = '', path = '', tag = '', digest] =
    /^([\w.[\]-]+(?::[\d:]+)?)\/([\w./-]+)(?::([\w.-]+))?(?:@(\w+:[\da-f]+))?$/i.exec(text) ?? []
  if (host === '') {
    throw new AppError(
      'invalid_request',
      `"${text}" is no image with its registry, such as registry.example.com/name:tag.`,
    )
  }
  return { host, path, reference: digest ?? (tag || 'latest') }
}

interface FindOptions {
  readonly login: RegistryLogin | undefined
  readonly signal: AbortSignal
}

/**
 * Asks a registry for the manifest of an image, with the login that it demands. Returns the HTTP
 * status; rejects when it cannot be reached.
 */
export async function findManifest(image: Image, { login, signal }: FindOptions): Promise<number> {
  const { host, path, reference } = image
  const url = `${schemeOf(host)}://${host}/v2/${path}/manifests/${reference}`
  const head = async (authorization?: string): Promise<Response> => {
    const headers = { accept: MANIFESTS, ...(authorization ? { authorization } : {}) }
    const response = await fetch(url, { method: 'HEAD', headers, redirect: 'manual', signal })
    await response.body?.cancel()
    return response
  }
  const first = await head()
  if (first.status !== 401) return first.status
  const challenge = first.headers.get('www-authenticate') ?? ''
  const authorization = await answerChallenge(challenge, { login, signal })
  return authorization ? (await head(authorization)).status : 401
}

/** Returns the scheme of a registry: one on this machine is without TLS, as for container tools. */
export const schemeOf = (host: string): string =>
  /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?$/.test(host) ? 'http' : 'https'

async function answerChallenge(
  challenge: string,
  { login, signal }: FindOptions,
): Promise<string | undefined> {
  const basic =
    login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
  if (/^basic\b/i.test(challenge)) return basic
  const url = /^bearer\b/i.test(challenge) ? tokenUrl(challenge) : undefined
  if (!url) return undefined
  // A password goes nowhere in the clear.
  const isSafe = url.protocol === 'https:' || schemeOf(url.host) === 'http'
  const headers = new Headers(basic && isSafe ? { authorization: basic } : {})
  const response = await fetch(url, { headers, redirect: 'manual', signal })
  const text = await readBounded(response, TOKEN_BYTES_MAX)
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), tokenAnswer), text)
  const token = parsed.success ? (parsed.output.token ?? parsed.output.access_token) : undefined
  return token && `Bearer ${token}`
}

/** The address that gives tokens for what was asked. */
function tokenUrl(challenge: string): URL | undefined {
  const { realm = '', service, scope } = parametersOf(challenge)
  if (!URL.canParse(realm)) return undefined
  const url = new URL(realm)
  if (service) url.searchParams.set('service', service)
  if (scope) url.searchParams.set('scope', scope)
  return url
}

const tokenAnswer = v.object({
  token: v.optional(v.string()),
  access_token: v.optional(v.string()),
})

const parametersOf = (challenge: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
