import { createScram } from './scram.ts'
import { passwordMessage, saslInitialResponse, saslResponse } from './wire-messages.ts'
import { connectionLost } from '../failures.ts'
import { toError } from '../../errors.ts'

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
