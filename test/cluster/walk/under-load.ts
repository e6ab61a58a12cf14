import assert from 'node:assert/strict'
import { addressOf, secretValue } from './cluster.ts'
import { startLoad, startSpanLoad } from './load.ts'
import type { Tally } from './load.ts'
import { query } from './platform.ts'

/**
 * Calls the web service and the collector while something happens, and holds that nobody noticed.
 */
export async function underLoad(namespace: string, act: () => Promise<unknown>): Promise<string> {
  const web = await addressOf(namespace, 'platform-web')
  const collector = await addressOf(namespace, 'platform-collector')
  const secret = await secretValue(namespace, 'platform-secrets', 'COLLECTOR_JWT_SECRET')
  const pages = startLoad('web', 200, () =>
    fetch(`${web}/sign-in`, { signal: AbortSignal.timeout(20_000) }),
  )
  const spans = startSpanLoad(250, collector, secret)
  const tallies: Tally[] = []
  try {
    await act()
  } finally {
    tallies.push(await pages.stop(), await spans.stop())
  }
  assert.deepEqual(
    tallies.flatMap(({ failures }) => failures),
    [],
    'requests that failed',
  )
  assert.deepEqual(
    await lost(namespace, spans.acknowledged),
    [],
    'acknowledged spans that are not stored',
  )
  const sent = tallies.reduce((sum, tally) => sum + tally.sent, 0)
  return `${sent} requests, ${spans.acknowledged.length} spans`
}

async function lost(
  namespace: string,
  acknowledged: readonly string[],
): Promise<readonly string[]> {
  const rows = await query(namespace, 'collector', "select trace_id from spans where name = 'walk'")
  const stored = new Set(rows.replaceAll('-', '').split('\n'))
  return acknowledged.filter((traceId) => !stored.has(traceId)).slice(0, 10)
}
