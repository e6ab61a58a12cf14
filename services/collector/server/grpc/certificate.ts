import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Server } from 'node:tls'
import { AppError, toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

interface Certificate {
  readonly cert: string
  readonly key: string
}

const CHECK_MS = 60_000

/**
 * Reads `tls.crt` and `tls.key`, the names in a Secret of Kubernetes. Raises
 * `invalid_configuration` when they are missing or do not fit each other.
 */
export async function readCertificate(directory: string): Promise<Certificate> {
  try {
    const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8')
    const [cert, key] = await Promise.all([read('tls.crt'), read('tls.key')])
    createSecureContext({ cert, key })
    return { cert, key }
  } catch (thrown) {
    const message = `GRPC_TLS_DIRECTORY must have tls.crt and tls.key: ${toError(thrown).message}`
    throw new AppError('invalid_configuration', message, { cause: thrown })
  }
}

interface Following {
  readonly server: Server
  readonly directory: string
  readonly certificate: Certificate
  readonly log: Log
}

/**
 * Lets new connections have a renewed certificate within a minute, until the server closes. A bad
 * one changes nothing.
 */
export function followCertificate({ server, directory, certificate, log }: Following): void {
  let current = certificate
  const check = async (): Promise<void> => {
    const found = await readCertificate(directory)
    if (found.cert === current.cert && found.key === current.key) return
    server.setSecureContext(found)
    current = found
    log.info('the certificate of the gRPC port was renewed')
  }
  const timer = setInterval(() => {
    check().catch((thrown: unknown) =>
      log.warn(
        { error: toError(thrown).message },
        'the certificate of the gRPC port is unreadable',
      ),
    )
  }, CHECK_MS)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
