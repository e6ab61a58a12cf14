import { setTimeout as delay } from 'node:timers/promises'
import { connectDatabase } from './database.ts'
import { isUntrusted, sqlState } from './failures.ts'
import type { DatabaseAddress } from './address.ts'
import { AppError, toError } from '../errors.ts'
import type { Log } from '../log.ts'

const RETRY_MS = 1000
const CONNECT_MS = 3000
/** The same reason is told again after so long. */
const REPEAT_MS = 30_000
/** SQLSTATEs that waiting does not cure: a wrong password, a database that does not exist. */
const HOPELESS = new Set(['28P01', '28000', '3D000'])

/**
 * Waits until PostgreSQL performs `select 1`, trying every second, and logs why it does not, each
 * reason once in a while. Raises `unavailable` after `timeoutMs`, and at once where waiting would
 * not help.
 */
export async function waitForDatabase(
  address: DatabaseAddress,
  { timeoutMs, log }: { timeoutMs: number; log: Log },
): Promise<void> {
  const { host, port, database } = address
  const giveUpAt = Date.now() + timeoutMs
  let told = { why: '', at: 0 }
  for (;;) {
    const failure = await ping(address)
    if (!failure) return
    const why = `PostgreSQL at ${host}:${port}/${database} does not answer: ${reasonOf(failure)}`
    if (Date.now() >= giveUpAt || HOPELESS.has(sqlState(failure) ?? '') || isUntrusted(failure)) {
      throw new AppError('unavailable', why, { cause: failure })
    }
    if (why !== told.why || Date.now() - told.at >= REPEAT_MS) {
      log.warn(`${why}; trying again for up to ${Math.ceil((giveUpAt - Date.now()) / 1000)} s`)
      told = { why, at: Date.now() }
    }
    await delay(RETRY_MS)
  }
}

/** The driver tells a time-out by the address of a socket that it never had. */
function reasonOf(failure: Error): string {
  const timedOut = 'code' in failure && failure.code === 'CONNECT_TIMEOUT'
  return timedOut ? `no connection within ${CONNECT_MS / 1000} s` : failure.message
}

async function ping(address: DatabaseAddress): Promise<Error | undefined> {
  const sql = connectDatabase(address, { name: 'wait', max: 1, connectTimeoutMs: CONNECT_MS })
  try {
    await sql`select 1`
    return undefined
  } catch (thrown) {
    return toError(thrown)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
