import { Socket } from 'node:net'
import type { DatabaseAddress } from './address.ts'
import { reportLoss } from './report-loss.ts'
import { openDatabaseSocket, startTcp } from './socket.ts'
import { deadline } from '../deadline.ts'
import { AppError, toError } from '../errors.ts'

/** The limits of a driver's socket, and who watches it. */
interface DriverSocketOptions {
  /** For TLS, which the driver's own time limit does not cover. */
  readonly connectTimeoutMs: number
  readonly onSocket?: ((socket: Socket) => void) | undefined
}

/**
 * Opens the socket of one connection of postgres.js, with TLS when the address asks for it. Never
 * rejects, as the driver would wait for ever: a socket that cannot be had fails at once.
 */
export function openDriverSocket(
  address: DatabaseAddress,
  options: DriverSocketOptions,
): Socket | Promise<Socket> {
  if (address.sslMode !== 'disable') return openTls(address, options)
  const socket = startTcp(address)
  options.onSocket?.(socket)
  return reportLoss(socket)
}

/** Left to the driver, TLS would put a socket in place of ours, which does not report its loss. */
async function openTls(
  address: DatabaseAddress,
  { connectTimeoutMs: timeoutMs, onSocket }: DriverSocketOptions,
): Promise<Socket> {
  const opened: Socket[] = []
  const open = () =>
    openDatabaseSocket(address, (socket) => {
      opened.push(socket)
      onSocket?.(socket)
    })
  try {
    return reportLoss(await deadline({ name: 'PostgreSQL', timeoutMs }, open))
  } catch (thrown) {
    for (const socket of opened) socket.destroy()
    return failedSocket(toConnectError(thrown))
  }
}

function toConnectError(thrown: unknown): Error {
  const error = toError(thrown)
  const isLate = thrown instanceof AppError && thrown.code === 'timeout'
  return isLate ? Object.assign(new Error(error.message), { code: 'CONNECT_TIMEOUT' }) : error
}

function failedSocket(error: Error): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy())
  return reportLoss(socket, error)
}
