import { Registry } from 'prom-client'
import type { Clock } from '../../../../services/collector/store/clock.ts'
import { createCollectorMetrics } from '../../../../services/collector/observability/metrics.ts'
import {
  createGuards,
  expireOrganizations,
} from '../../../../services/collector/store/spans/expire-organizations.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { silent } from './harness.ts'

/** The name of the connection on which a test deletes. */
export const EXPIRY = 'expiry-of-a-test'

interface Options {
  readonly days: Readonly<Record<string, number>>
  readonly clock: Clock
}

/** Deletes once what organizations keep for so many days only. */
export async function expireOnce(databaseUrl: string, { days, clock }: Options) {
  const metrics = createCollectorMetrics(new Registry())
  const address = parseAddress(databaseUrl)
  const sql = connectDatabase(address, { name: EXPIRY, max: 1 })
  const organizationRetention = new Map(Object.entries(days))
  const { signal } = new AbortController()
  const options = { address, organizationRetention, clock, metrics, log: silent, signal }
  try {
    await expireOrganizations(sql, { ...options, guards: createGuards(options) })
  } finally {
    await sql.end({ timeout: 1 })
  }
  const valueOf = async (metric: { get(): Promise<{ values: { value: number }[] }> }) =>
    (await metric.get()).values[0]?.value
  return {
    spans: await valueOf(metrics.expiredSpans),
    heldBack: await valueOf(metrics.organizationHeldBackDays),
  }
}
