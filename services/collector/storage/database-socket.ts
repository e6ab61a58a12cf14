import { once } from 'node:events'
import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { DatabaseAddress } from '../../shared/database.ts'
import { AppError } from '../../shared/errors.ts'
import { tlsRequest } from './wire-messages.ts'

const TLS_ACCEPTED = 'S'

/**
 * A connected socket to the server, with TLS when the address asks for it. `opened` gets every socket as soon as it
 * exists, so that a caller who stops waiting can destroy it.
 */
export async function openDatabaseSocket(
  address: DatabaseAddress,
  opened: Socket[],
): Promise<Socket> {
  const { host, port, sslMode } = address
  // Nagle's algorithm would hold back the end of each COPY for some 40 ms.
  const socket = connectTcp({ host, port, noDelay: true, keepAlive: true })
  opened.push(socket)
  await once(socket, 'connect')
  if (sslMode === 'disable') return socket
  socket.write(tlsRequest())
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (answer.toString('latin1') !== TLS_ACCEPTED) {
    throw new AppError('unavailable', 'PostgreSQL does not offer TLS, which sslmode demands.')
  }
  const secure = connectTls({
    socket,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: sslMode === 'verify-full',
  })
  opened.push(secure)
  await once(secure, 'secureConnect')
  return secure
}
