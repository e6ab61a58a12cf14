import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { dayOf, partitionName } from '../../../services/collector/store/spans/partitions.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'

const DAY_MS = 86_400_000
/** On Citus a day without spans has more than a hundred kilobytes in its shards. */
const LIMIT_BYTES = citusUrl === undefined ? 2 << 20 : 5 << 19

describe('a limit of bytes for all days together (SPEC 2.6)', () => {
  let harness: Harness
  beforeAll(async () => {
    const env = { COLLECTOR_MAX_STORAGE_BYTES: String(LIMIT_BYTES) }
    harness = await createHarness(env, { spaceCheckMs: 50 })
  })
  afterAll(() => harness.stop())

  /** Sends spans of about `kilobytes` that the database cannot compress away. */
  const send = async (daysAgo: number, kilobytes = 1): Promise<Response> => {
    const startTimeUnixNano = nanos(Date.now() - daysAgo * DAY_MS)
    const noise = () => Array.from({ length: 900 }, () => Math.random().toString(36)[3]).join('')
    const spans = Array.from({ length: kilobytes }, () =>
      spanOf({ startTimeUnixNano, attributes: [textAttribute('noise', noise())] }),
    )
    return harness.post(toProtobuf(requestOf(...spans)))
  }
  const days = async (): Promise<string[]> => {
    // Without the number of a shard.
    const rows = await harness.sql`
      select distinct substring(tableoid::regclass::text from 'spans_[0-9]{8}') as name
      from spans order by name`
    return rows.map(({ name }) => String(name))
  }
  const nameOf = (daysAgo: number): string => partitionName(dayOf(Date.now() - daysAgo * DAY_MS))
  const health = async (): Promise<unknown> =>
    (await fetch(`${harness.collector.url}/health`)).json()
  const metric = (name: string) => harness.metric(`collector_${name}`)

  it('lets the oldest day go before its time, and keeps the younger ones', async () => {
    expect((await send(5, 1500)).status).toBe(200)
    expect((await send(3)).status).toBe(200)
    expect((await send(0)).status).toBe(200)
    await expect.poll(days).toEqual([nameOf(3), nameOf(0)])
    const reason = { reason: 'storage_limit' }
    const dropped = () => harness.metric('collector_retention_dropped_partitions_total', reason)
    await expect.poll(dropped).toBe(1)
    expect(await metric('storage_limit_bytes')).toBe(LIMIT_BYTES)
    const kept = () => metric('storage_bytes')
    await expect.poll(kept).toBeLessThan(LIMIT_BYTES)
    const well = { status: 'ok', storage: 'ok', days_dropped_early: 1 }
    await expect.poll(health).toMatchObject(well)
  })

  it('takes no spans while today alone is too large, and tells so', async () => {
    expect((await send(0, 2500)).status).toBe(200)
    const status = async () => (await send(0)).status
    await expect.poll(days).toEqual([nameOf(0)])
    await expect.poll(status).toBe(503)
    expect(await health()).toMatchObject({ status: 'degraded', database: 'up', storage: 'full' })
    expect(await metric('storage_bytes')).toBeGreaterThan(LIMIT_BYTES)
    const reason = { reason: 'storage_full' }
    expect(await harness.metric('collector_requests_refused_total', reason)).toBeGreaterThan(0)
  })

  it('takes them again as soon as there is space', async () => {
    await harness.sql.begin(async (tx) => {
      // Who reads them meanwhile would be in the way on Citus.
      await tx`select pg_advisory_xact_lock(${LEADER_LOCK})`
      await tx`truncate spans`
    })
    await expect.poll(async () => (await send(0)).status).toBe(200)
    expect(await health()).toMatchObject({ status: 'ok', storage: 'ok' })
  })
})
