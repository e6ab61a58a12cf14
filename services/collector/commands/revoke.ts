import * as v from 'valibot'
import { MAX_TOKEN_ID_CHARS } from '../../shared/collector-token.ts'
import { databaseAddress, databaseEnv } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { sqlState } from '../../shared/postgres/failures.ts'
import { readEnv } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { listRevokedTokens, revokeToken } from '../tokens/revoked-tokens.ts'
import type { Output } from './command.ts'
import { readArguments } from './options.ts'

interface Surroundings {
  readonly source: EnvSource
  readonly output: Output
  readonly usage: string
}

const MAX_REASON_CHARS = 500
const SHOWN = 100

/** `token revoke ID`: the collector refuses the token of that id from within a minute on. */
export async function revoke(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const { source, output, usage } = surroundings
  const [id = '', ...rest] = args
  const { reason, help } = readArguments(rest, { reason: { type: 'string' } }, usage)
  if (help || id === '--help' || id === '-h') return output.out(usage)
  if (id === '' || id.startsWith('-') || id.length > MAX_TOKEN_ID_CHARS) {
    throw new AppError('invalid_configuration', `revoke needs the id of a token.\n\n${usage}`)
  }
  const isNew = await withDatabase(source, (sql) =>
    revokeToken(sql, { id, reason: reason?.slice(0, MAX_REASON_CHARS) }),
  )
  const effect = 'every collector refuses it within a minute'
  output.out(isNew ? `Revoked ${id}; ${effect}.\n` : `${id} was revoked before.\n`)
}

/** `token revoked`: what was revoked last, one line each. */
export async function listRevoked(
  args: readonly string[],
  { source, output, usage }: Surroundings,
): Promise<void> {
  const { help } = readArguments(args, {}, usage)
  if (help) return output.out(usage)
  const tokens = await withDatabase(source, (sql) => listRevokedTokens(sql, SHOWN))
  for (const { id, revokedAt, reason } of tokens) {
    output.out(`${revokedAt.toISOString()}  ${id}  ${JSON.stringify(reason ?? '')}\n`)
  }
}

const UNDEFINED_TABLE = '42P01'

async function withDatabase<Result>(
  source: EnvSource,
  work: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const address = databaseAddress(readEnv(v.object(databaseEnv), source))
  const sql = connectDatabase(address, { name: 'collector-token', max: 1 })
  try {
    return await work(sql)
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    const { database, host, port } = address
    const why =
      sqlState(thrown) === UNDEFINED_TABLE
        ? 'it is not the database of this version of the collector'
        : toError(thrown).message
    const message = `The tokens in "${database}" at ${host}:${port} cannot be reached: ${why}.`
    throw new AppError('unavailable', message, { cause: thrown })
  } finally {
    await sql.end({ timeout: 1 })
  }
}
