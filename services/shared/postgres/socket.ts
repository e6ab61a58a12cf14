import { once } from 'node:events'
import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { DatabaseAddress } from './address.ts'
import { connectionClosed, isUntrusted } from './failures.ts'
import { AppError, toError } from '../errors.ts'

type Server = Pick<DatabaseAddress, 'host' | 'port' | 'sslMode'>

/** The wire protocol's SSLRequest: its length, and a number that no protocol version has. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const TLS_ACCEPTED = 'S'

/**
 * Starts to connect to the server. Nagle's algorithm is off: it would hold back the end of each
 * COPY for some 40 ms.
 */
export const startTcp = ({ host, port }: Server): Socket =>
  connectTcp({ host, port, noDelay: true, keepAlive: true })

/**
 * Opens a socket to the server, with TLS when the address asks for it. `onSocket` sees every socket
 * as soon as it exists, so that a caller who stops waiting can destroy it. Raises Node's errors,
 * `CONNECTION_CLOSED`, and `unavailable` when the server does not offer TLS.
 */
export async function openDatabaseSocket(
  server: Server,
  onSocket: (socket: Socket) => void,
): Promise<Socket> {
  const { host, sslMode } = server
  const socket = startTcp(server)
  onSocket(socket)
  await once(socket, 'connect')
  if (sslMode === 'disable') return socket
  socket.write(TLS_REQUEST)
  await requireTls(socket)
  const secure = connectTls({
    socket,
    ...(isIP(host) === 0 ? { servername: host } : { host }),
    rejectUnauthorized: sslMode === 'verify-full',
  })
  onSocket(secure)
  await once(secure, 'secureConnect').catch((thrown: unknown) => {
    throw explainTls(toError(thrown), server)
  })
  return secure
}

/** Says what to do about a certificate; anything else stays as it is. */
function explainTls(error: Error, { host, port }: Server): Error {
  if (!isUntrusted(error)) return error
  const { code } = error
  const advice =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? `is for other names than ${host}. Set DB_HOST to one of the names in it`
      : `is not trusted (${code}). Name its authority in global.caBundle (NODE_EXTRA_CA_CERTS)`
  const certificate = `The certificate of PostgreSQL at ${host}:${port}`
  const message = `${certificate} ${advice}, or have it issued anew.`
  return Object.assign(new Error(message, { cause: error }), { code })
}

/** Waits for the server's one byte, and takes nothing but a yes. */
async function requireTls(socket: Socket): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  const closed = once(socket, 'close', { signal }).then(() => [])
  closed.catch(() => {})
  const [response] = await Promise.race([once(socket, 'data', { signal }), closed])
  settled.abort()
  if (!Buffer.isBuffer(response)) {
    throw connectionClosed('PostgreSQL closed the connection before TLS began.')
  }
  // More than the one byte is what somebody in between has slipped in (CVE-2021-23222).
  if (response.toString('latin1') !== TLS_ACCEPTED) {
    throw new AppError('unavailable', 'PostgreSQL does not offer TLS, which sslmode demands.')
  }
}
