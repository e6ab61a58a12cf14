import assert from 'node:assert/strict'
import { addressOf, secretValue } from './cluster.ts'
import { startLoad, startSpanLoad } from './load.ts'
import type { Tally } from './load.ts'
import { endOf, kickOff, query } from './platform.ts'
import type { Caller } from './platform.ts'

const RUN_EVERY_MS = 3000

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

/** Starts runs while something happens, of which some are in flight; each has to be completed. */
export async function underRuns(caller: Caller, act: () => Promise<string>): Promise<string> {
  const ids: string[] = []
  const load = startLoad('kickoff', RUN_EVERY_MS, async () => {
    ids.push(await kickOff(caller, `slowly ${ids.length}`))
    return new Response()
  })
  let fact = ''
  let tally: Tally
  try {
    fact = await act()
  } finally {
    tally = await load.stop()
  }
  assert.deepEqual(tally.failures, [], 'kickoffs that failed')
  const ends = await Promise.all(ids.map((id) => endOf(caller, id)))
  assert.deepEqual(
    ends.filter((end) => end !== 'completed'),
    [],
    'runs that were not completed',
  )
  return `${fact}, ${ids.length} runs`
}
