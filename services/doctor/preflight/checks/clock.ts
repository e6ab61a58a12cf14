import { openDisposable } from '../../../shared/postgres/disposable-database.ts'
import type { PreflightContext } from '../context.ts'
import { schemeOf } from '../registry-client.ts'
import { failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'

/** As much as the platform grants to tokens. */
const SKEW_SECONDS_MAX = 30
/** Of the header `Date`, which has no fractions. */
const ROUNDING_MS = 500

interface Reading {
  readonly of: string
  /** How far the other clock is ahead of this one; negative if it is behind. */
  readonly skewSeconds: number
}

/** The clocks of the identity provider, the registry and the database agree with this one. */
export async function checkClock(context: PreflightContext): Promise<Result> {
  const { issuer, images, database } = context.installation
  const registry = images[0]?.split('/', 1)[0]
  const readings = await Promise.all([
    issuer ? readHeader('identity provider', issuer, context.signal) : undefined,
    registry
      ? readHeader('registry', `${schemeOf(registry)}://${registry}/v2/`, context.signal)
      : undefined,
    'address' in database ? readDatabase(context) : undefined,
  ])
  const known = readings.filter((reading) => reading !== undefined)
  if (known.length === 0) return skipped('there is no other clock to compare with')
  const details = {
    clocks: known.map(({ of, skewSeconds }) => ({ name: of, skew_seconds: skewSeconds })),
  }
  const wrong = known.filter(({ skewSeconds }) => Math.abs(skewSeconds) > SKEW_SECONDS_MAX)
  if (wrong.length === 0) return passed(['clocks_agree'], details)
  const reasons = wrong.map(
    ({ of, skewSeconds }) =>
      `the clock of the ${of} is ${Math.abs(skewSeconds)} s ` +
      (skewSeconds > 0 ? 'ahead' : 'behind'),
  )
  return failed('clock_skewed', reasons.join('; '), { details })
}

async function readHeader(
  of: string,
  url: string,
  signal: AbortSignal,
): Promise<Reading | undefined> {
  try {
    const sent = Date.now()
    const response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
    await response.body?.cancel()
    const theirs = Date.parse(response.headers.get('date') ?? '')
    if (Number.isNaN(theirs)) return undefined
    return { of, skewSeconds: skew(theirs + ROUNDING_MS, sent) }
  } catch {
    // The check of that service says why it cannot be reached.
    return undefined
  }
}

async function readDatabase({ installation, timeoutMs }: PreflightContext) {
  const { database } = installation
  if (!('address' in database)) return undefined
  const limits = { max: 1, connectTimeoutMs: timeoutMs, statementTimeoutMs: timeoutMs }
  const opened = openDisposable(database.address, { name: 'doctor', ...limits })
  try {
    await opened.sql`select 1`
    const sent = Date.now()
    const [row] = await opened.sql<[{ ms: number }]>`
      select extract(epoch from clock_timestamp())::float8 * 1000 as ms`
    return { of: 'database', skewSeconds: skew(row.ms, sent) }
  } catch {
    return undefined
  } finally {
    await opened.dispose()
  }
}

/** Compares with the middle of the call. */
const skew = (theirsMs: number, sentMs: number): number =>
  Math.round((theirsMs - (sentMs + Date.now()) / 2) / 1000)
