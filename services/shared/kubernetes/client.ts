import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import * as v from 'valibot'
import { deadline } from '../deadline.ts'
import type { EnvSource } from '../env.ts'
import { AppError, toError } from '../errors.ts'

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const TIMEOUT_MS = 10_000
/** More than any object or page that we ask for. */
const RESPONSE_BYTES_MAX = 8 << 20

/** The API server, and the account that calls it. */
export interface KubernetesAddress {
  readonly url: string
  /** Read again for each call: the kubelet renews the token about every hour. */
  readonly tokenFile: string
  /** The API server's certificate authority; not needed for a plain http address. */
  readonly caFile?: string
}

/** What a caller shows to the API server. */
export interface KubernetesCredentials {
  readonly token?: string | undefined
  /** A client certificate and its key, in PEM. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** The API server, and how somebody outside of the cluster logs in. */
export interface KubernetesLogin {
  readonly url: string
  /** The API server's certificate authority in PEM; undefined trusts the public ones. */
  readonly ca?: string | undefined
  /** The name in the API server's certificate, where it is not that of the address. */
  readonly serverName?: string | undefined
  /** True trusts any certificate. */
  readonly isInsecure?: boolean
  /** Asked for each call. */
  readonly credentials: () => Promise<KubernetesCredentials>
}

/** A failed call, as the API server's `Status` tells it. */
export interface KubernetesFailure {
  /** The HTTP status; 0 when there was no response. */
  readonly status: number
  readonly reason: string
  readonly message: string
}

/** The object that a call returned, or its failure. */
export type KubernetesResult =
  | { readonly object: unknown }
  | { readonly failure: KubernetesFailure }

interface KubernetesCall {
  readonly method: 'GET' | 'PATCH' | 'PUT' | 'POST' | 'DELETE'
  /** `/api/v1/namespaces/default/secrets/x` */
  readonly path: string
  readonly body?: unknown
  /** Of a patch. @default 'application/merge-patch+json' */
  readonly contentType?: string
  /**
   * `text` for an answer that is no JSON: its object is the text. `any` for what a pod answers, of
   * any status: its object is `{status, text}`.
   * @default 'json'
   */
  readonly answer?: 'json' | 'text' | 'any'
  /** Further headers, for a call that the API server passes on to a pod. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Performs one call to the API server. Never raises: a refusal and a silence are results too. */
export type Kubernetes = (call: KubernetesCall) => Promise<KubernetesResult>

/** Returns the address of the API server as a pod sees it; undefined outside a cluster. */
export function inClusterAddress(source: EnvSource): KubernetesAddress | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = source
  if (!host) return undefined
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { url, tokenFile: `${ACCOUNT}/token`, caFile: `${ACCOUNT}/ca.crt` }
}

/** Creates a small client for the few calls that the platform makes. */
export function createKubernetes(address: KubernetesAddress | KubernetesLogin): Kubernetes {
  const openLogin = async (): Promise<KubernetesLogin> =>
    'credentials' in address ? address : readAccount(address)
  return async function callKubernetes(call) {
    const name = `Kubernetes API ${call.method} ${call.path}`
    try {
      const options = {
        name,
        timeoutMs: TIMEOUT_MS,
        ...(call.signal ? { signal: call.signal } : {}),
      }
      return await deadline(options, async (signal) => send(await openLogin(), { ...call, signal }))
    } catch (thrown) {
      return { failure: { status: 0, reason: 'Unreachable', message: toError(thrown).message } }
    }
  }
}

/** Reads the files of a service account. */
async function readAccount({
  url,
  tokenFile,
  caFile,
}: KubernetesAddress): Promise<KubernetesLogin> {
  const token = (await readFile(tokenFile, 'utf8')).trim()
  const ca = caFile ? await readFile(caFile, 'utf8') : undefined
  return { url, ca, credentials: async () => ({ token }) }
}

async function send(login: KubernetesLogin, call: KubernetesCall): Promise<KubernetesResult> {
  const credentials = await login.credentials()
  const { status, text } = await exchange(login, { call, credentials })
  if (call.answer === 'any') return { object: { status, text } }
  const isFine = status >= 200 && status < 300
  if (isFine && call.answer === 'text') return { object: text }
  const object: unknown = parseJson(text)
  return isFine ? { object } : { failure: { status, ...failureOf(object, status) } }
}

interface Exchange {
  readonly call: KubernetesCall
  readonly credentials: KubernetesCredentials
}

function exchange(
  { url: base, ca, serverName, isInsecure }: KubernetesLogin,
  { call, credentials: { token, cert, key } }: Exchange,
): Promise<{ status: number; text: string }> {
  // Behind some addresses there is a path, such as that of one cluster of many.
  const url = new URL(`${base.replace(/\/$/, '')}${call.path}`)
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  const { method, signal } = call
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  const tls = {
    ca,
    cert,
    key,
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(isInsecure ? { rejectUnauthorized: false } : {}),
  }
  const options = { method, headers: headersOf(call, { token, body }), signal, agent: false }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...tls, ...options }, (response) => {
      readAll(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

function headersOf(
  { method, contentType = 'application/merge-patch+json', answer, headers }: KubernetesCall,
  { token, body }: { token: string | undefined; body: string | undefined },
): Record<string, string | number> {
  const type = method === 'PATCH' ? contentType : 'application/json'
  return {
    ...headers,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    accept: answer === undefined || answer === 'json' ? 'application/json' : '*/*',
    ...(body === undefined
      ? {}
      : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > RESPONSE_BYTES_MAX) {
      response.destroy()
      throw new AppError(
        'bad_gateway',
        `The Kubernetes API answered more than ${RESPONSE_BYTES_MAX} bytes.`,
      )
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const statusObject = v.object({
  reason: v.optional(v.string(), 'Unknown'),
  message: v.optional(v.string(), ''),
})

function failureOf(object: unknown, status: number): { reason: string; message: string } {
  const result = v.safeParse(statusObject, object)
  return result.success
    ? result.output
    : { reason: 'Unknown', message: `HTTP ${status} without a Status` }
}
