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

/** One request to the API server. */
export interface KubernetesCall {
  readonly method: 'GET' | 'PATCH' | 'PUT' | 'POST' | 'DELETE'
  /** `/api/v1/namespaces/default/secrets/x` */
  readonly path: string
  readonly body?: unknown
  /** Of a patch. @default 'application/merge-patch+json' */
  readonly contentType?: string
  /** `text` for an answer that is no JSON: its object is the text. @default 'json' */
  readonly answer?: 'json' | 'text'
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
export function createKubernetes(address: KubernetesAddress): Kubernetes {
  return async function callKubernetes(call) {
    const name = `Kubernetes API ${call.method} ${call.path}`
    try {
      const options = {
        name,
        timeoutMs: TIMEOUT_MS,
        ...(call.signal ? { signal: call.signal } : {}),
      }
      return await deadline(options, (signal) => send(address, { ...call, signal }))
    } catch (thrown) {
      return { failure: { status: 0, reason: 'Unreachable', message: toError(thrown).message } }
    }
  }
}

async function send(address: KubernetesAddress, call: KubernetesCall): Promise<KubernetesResult> {
  const token = (await readFile(address.tokenFile, 'utf8')).trim()
  const ca = address.caFile ? await readFile(address.caFile) : undefined
  const { status, text } = await exchange(new URL(call.path, address.url), { call, token, ca })
  const isFine = status >= 200 && status < 300
  if (isFine && call.answer === 'text') return { object: text }
  const object: unknown = parseJson(text)
  return isFine ? { object } : { failure: { status, ...failureOf(object, status) } }
}

interface Exchange {
  readonly call: KubernetesCall
  readonly token: string
  readonly ca: Buffer | undefined
}

function exchange(
  url: URL,
  { call, token, ca }: Exchange,
): Promise<{ status: number; text: string }> {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  const type =
    call.method === 'PATCH'
      ? (call.contentType ?? 'application/merge-patch+json')
      : 'application/json'
  const headers = {
    authorization: `Bearer ${token}`,
    accept: call.answer === 'text' ? '*/*' : 'application/json',
    ...(body === undefined
      ? {}
      : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
  }
  const { method, signal } = call
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, ca, signal, agent: false }, (response) => {
      readAll(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
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
