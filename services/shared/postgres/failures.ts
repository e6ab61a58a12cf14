import postgres from 'postgres'
import { AppError } from '../errors.ts'

/** Returns the SQLSTATE of a failed statement; undefined if the server gave none. */
export function sqlState(thrown: unknown): string | undefined {
  return thrown instanceof postgres.PostgresError ? thrown.code : undefined
}

/** Returns the constraint that a statement violated; undefined if the server named none. */
export function violatedConstraint(thrown: unknown): string | undefined {
  return thrown instanceof postgres.PostgresError ? thrown.constraint_name : undefined
}

/** Connection exceptions, a server that shuts down or starts, one without a free connection. */
const UNAVAILABLE_STATES = /^(08...|57P0[123]|53300)$/
const UNAVAILABLE_CODES =
  /^(CONNECT|CONNECTION)_[A-Z]+$|^(ECONN|EHOST|ENET)[A-Z]+$|^(ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE)$/

/**
 * Tells a statement that failed because the database cannot be reached, and may succeed later, from
 * one that is wrong.
 */
export function isDatabaseUnavailable(thrown: unknown): boolean {
  const state = sqlState(thrown)
  if (state !== undefined) return UNAVAILABLE_STATES.test(state)
  return thrown instanceof Error && 'code' in thrown && UNAVAILABLE_CODES.test(String(thrown.code))
}

const WRONG_NAME = 'ERR_TLS_CERT_ALTNAME_INVALID'
const UNTRUSTED = /^(UNABLE_TO|(DEPTH_ZERO_)?SELF_SIGNED|CERT)_[A-Z_]+$/

/** Tells an error of a certificate: of an unknown authority, or for other names. */
export const isUntrusted = (thrown: unknown): thrown is Error & { readonly code: string } =>
  thrown instanceof Error &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  (thrown.code === WRONG_NAME || UNTRUSTED.test(thrown.code))

/** The error of a connection for COPY that cannot go on. */
export const connectionLost = (why: string): AppError =>
  new AppError('unavailable', `The connection to PostgreSQL was lost: ${why}.`)

/** The error of a socket that the other side has closed; its code is postgres.js' own. */
export function connectionClosed(message = 'The connection to PostgreSQL was closed.'): Error {
  return Object.assign(new Error(message), { code: 'CONNECTION_CLOSED' })
}
