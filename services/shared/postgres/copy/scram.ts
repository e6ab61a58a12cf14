import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '../../errors.ts'

/** One SCRAM-SHA-256 exchange (RFC 5802, RFC 7677), without channel binding. */
interface Scram {
  /** The client's first message. */
  readonly first: string
  /** Returns the response to the server's first message. */
  final(serverFirst: string): Promise<string>
  /** Raises `unavailable` unless the server's last message proves that it knows the password. */
  check(serverFinal: string): void
}

const HEADER = 'n,,'
const KEY_BYTES = 32
/** A server may not keep us busy for ever. */
const MAX_ITERATIONS = 1_000_000
const derive = promisify(pbkdf2)

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** Begins an exchange with a nonce of its own. */
export function createScram(password: string): Scram {
  const nonce = randomBytes(18).toString('base64')
  // PostgreSQL takes the user from the startup message and ignores this one.
  const bare = `n=,r=${nonce}`
  let serverSignature: Buffer = Buffer.alloc(0)
  return {
    first: HEADER + bare,
    async final(serverFirst) {
      const { r = '', s = '', i = '' } = attributes(serverFirst)
      if (!r.startsWith(nonce) || Number(i) > MAX_ITERATIONS) throw refused()
      const salt = Buffer.from(s, 'base64')
      const salted = await derive(password.normalize('NFKC'), salt, Number(i), KEY_BYTES, 'sha256')
      const withoutProof = `c=${Buffer.from(HEADER).toString('base64')},r=${r}`
      const exchange = `${bare},${serverFirst},${withoutProof}`
      serverSignature = hmac(hmac(salted, 'Server Key'), exchange)
      return `${withoutProof},p=${proof(salted, exchange).toString('base64')}`
    },
    check(serverFinal) {
      const given = Buffer.from(attributes(serverFinal)['v'] ?? '', 'base64')
      const isEqual = given.length === KEY_BYTES && timingSafeEqual(given, serverSignature)
      if (!isEqual) throw refused()
    },
  }
}

function proof(salted: Buffer, exchange: string): Buffer {
  const clientKey = hmac(salted, 'Client Key')
  const storedKey = createHash('sha256').update(clientKey).digest()
  const signature = hmac(storedKey, exchange)
  return Buffer.from(clientKey.map((byte, i) => byte ^ (signature[i] ?? 0)))
}

function attributes(message: string): Record<string, string> {
  return Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]))
}

const refused = (): AppError =>
  new AppError('unavailable', 'The database server did not prove that it knows the password.')
