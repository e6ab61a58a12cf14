import * as v from 'valibot'
import { integer, optional, text } from '../env.ts'
import { oneOf } from '../schemas.ts'
import { AppError } from '../errors.ts'

/**
 * The modes of TLS, as libpq's `sslmode`: `require` encrypts, `verify-full` also checks the
 * server's certificate and name.
 */
const SSL_MODES = ['disable', 'require', 'verify-full'] as const
type SslMode = (typeof SSL_MODES)[number]

/** The address of a database in one variable. */
export const postgresUrl = v.pipe(
  v.string(),
  v.check(
    (value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value),
    'must be a postgres:// URL',
  ),
)

/**
 * The variables of a service with a database: `DATABASE_URL`, or its parts. An empty password is
 * valid, for a proxy that logs in with IAM tokens (SPEC appendix 5).
 */
export const databaseEnv = {
  DATABASE_URL: optional(postgresUrl),
  DB_HOST: optional(text()),
  DB_PORT: v.optional(integer(1, 65_535), '5432'),
  DB_NAME: optional(text()),
  DB_USER: optional(text()),
  DB_PASSWORD: v.optional(v.string(), ''),
  DB_SSLMODE: v.optional(oneOf(SSL_MODES), 'disable'),
}

/** The server, the database on it, and the login. */
export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string
  readonly sslMode: SslMode
}

type DatabaseEnv = v.InferOutput<v.ObjectSchema<typeof databaseEnv, undefined>>

/**
 * Reads the address of the database. Raises `invalid_configuration` when neither the URL nor its
 * parts are complete.
 */
export function databaseAddress(env: DatabaseEnv): DatabaseAddress {
  if (env.DATABASE_URL) return parseAddress(env.DATABASE_URL)
  const missing = (['DB_HOST', 'DB_NAME', 'DB_USER'] as const).filter((name) => !env[name])
  if (missing.length > 0) {
    throw new AppError(
      'invalid_configuration',
      `The database is not configured: set DATABASE_URL, or ${missing.join(', ')}.`,
      { details: { variables: missing } },
    )
  }
  return {
    host: env.DB_HOST ?? '',
    port: env.DB_PORT,
    database: env.DB_NAME ?? '',
    user: env.DB_USER ?? '',
    password: env.DB_PASSWORD,
    sslMode: env.DB_SSLMODE,
  }
}

/** Splits a postgres:// URL into its parts; an empty password stays empty. */
export function parseAddress(url: string): DatabaseAddress {
  const { hostname, port, pathname, username, password, searchParams } = new URL(url)
  return {
    host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ''),
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    sslMode: SSL_MODES.find((mode) => mode === searchParams.get('sslmode')) ?? 'disable',
  }
}
