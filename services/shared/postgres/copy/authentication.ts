import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { toError, AppError } from '../../errors.ts'
import { connectionLost } from '../failures.ts'
import { passwordMessage, saslInitialResponse, saslResponse } from './wire-messages.ts'

/** The two directions of a login. */
interface AuthenticationChannel {
  readonly send: (bytes: Buffer) => void
  readonly fail: (error: Error) => void
}

/** The codes of the server's authentication requests that are known here. */
const OK = 0
const CLEARTEXT_PASSWORD = 3
const SASL = 10
const SASL_CONTINUE = 11
const SASL_FINAL = 12

/**
 * Responds to the bodies of the server's authentication requests: none, a password, or
 * SCRAM-SHA-256. Fails the connection for any other, and for a server that proves nothing.
 */
export function createAuthentication(
  password: string,
  { send, fail }: AuthenticationChannel,
): (body: Buffer) => void {
  const scram = createScram(password)
  const steps: Readonly<Record<number, (rest: string) => void | Promise<void>>> = {
    [OK]: () => {},
    [CLEARTEXT_PASSWORD]: () => send(passwordMessage(password)),
    [SASL]: () => send(saslInitialResponse('SCRAM-SHA-256', scram.first)),
    [SASL_CONTINUE]: async (rest) => send(saslResponse(await scram.final(rest))),
    [SASL_FINAL]: (rest) => scram.check(rest),
  }
  const respond = (body: Buffer): void | Promise<void> => {
    const step = steps[body.readInt32BE(0)]
    if (!step) throw connectionLost('the server asks for an authentication that is not supported')
    return step(body.toString('utf8', 4))
  }
  const refuse = (thrown: unknown): void => fail(toError(thrown))
  return (body) => {
    // At once: the same bytes may hold the server's ReadyForQuery, which would let it in.
    try {
      const responded = respond(body)
      if (responded instanceof Promise) responded.catch(refuse)
    } catch (thrown) {
      refuse(thrown)
    }
  }
}

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
function createScram(password: string): Scram {
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
