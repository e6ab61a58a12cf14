import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { X509Certificate } from 'node:crypto'
import type { BuildProblem } from '../../platform/crews/build-checks.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import type { Certificates } from '../deployments/kubernetes/cluster-settings.ts'

const REACH_MS = 5000

/** What an attempt to reach BuildKit showed. */
export interface ReachedBuildkit {
  readonly problem?: BuildProblem
  /** When certificates end, as ISO 8601. */
  readonly certificates: Readonly<Record<string, string>>
}

/**
 * Reaches BuildKit as a build does, with the client's certificate, and waits for the answer to a
 * ping: a server refuses a certificate only after its own side of TLS is done.
 */
export async function reachBuildkit(
  address: string,
  { ca, cert, key }: Certificates,
): Promise<ReachedBuildkit> {
  const { hostname, port } = new URL(address)
  const client = endOf('client', () => new X509Certificate(cert).validTo)
  const options = { host: hostname, port: Number(port), servername: hostname, ca, cert, key }
  try {
    const server = await deadline({ name: 'BuildKit', timeoutMs: REACH_MS }, async (signal) => {
      const socket = connectTls({ ...options, ALPNProtocols: ['h2'] })
      signal.addEventListener('abort', () => socket.destroy())
      try {
        await ping(socket)
        return endOf('BuildKit', () => socket.getPeerCertificate().valid_to)
      } finally {
        socket.destroy()
      }
    })
    return { certificates: { ...client, ...server } }
  } catch (thrown) {
    return { problem: toProblem(toError(thrown)), certificates: client }
  }
}

function endOf(name: string, read: () => string): Record<string, string> {
  try {
    return { [name]: new Date(read()).toISOString() }
  } catch {
    return {}
  }
}

/** A server that trusts no caller of this authority may hang up without a word. */
const REFUSED = Object.assign(new Error('it refused the certificate of the client'), {
  code: 'ERR_TLS_REFUSED',
})

const ping = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(socket.authorized ? REFUSED : new Error('it hung up')))
    socket.once('secureConnect', () => {
      const session = connectHttp2('https://buildkit', { createConnection: () => socket })
      session.once('error', reject)
      session.once('connect', () => session.ping((error) => (error ? reject(error) : resolve())))
    })
  })

/** Errors of TLS, as Node and OpenSSL name them. */
const TLS_ERROR = /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_|ERR_OSSL_)/

function toProblem(error: Error & { readonly code?: unknown }): BuildProblem {
  const code = typeof error.code === 'string' ? error.code : ''
  if (TLS_ERROR.test(code)) {
    const message = `BuildKit and its callers do not trust each other: ${error.message}`
    return { code: 'buildkit_tls_failed', message }
  }
  return { code: 'buildkit_unreachable', message: `BuildKit does not answer: ${error.message}` }
}
