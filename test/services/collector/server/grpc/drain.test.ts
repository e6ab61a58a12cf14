import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGrpc } from '../../support/grpc.ts'
import { createHarness, lockSpans } from '../../support/harness.ts'
import type { Harness } from '../../support/harness.ts'
import { requestOf, spanOf, toProtobuf } from '../../support/otlp.ts'
import { openRaw } from '../../support/raw.ts'

const CALLS = 40

describe('a collector that stops while calls of gRPC are open', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ GRPC_PORT: '0' })
  })
  afterAll(() => harness.stop())

  it('acknowledges what it commits, and takes no new connection', async () => {
    const url = harness.collector.grpcUrl ?? ''
    const client = openGrpc(url)
    const unused = await openRaw(url)
    const release = await lockSpans(harness.databaseUrl)
    const spans = Array.from({ length: CALLS }, () => spanOf())
    const answers = spans.map((span) => client.send(toProtobuf(requestOf(span))))
    const rows = () => harness.metric('collector_queue_rows')
    await expect.poll(rows).toBe(CALLS)
    const stopped = harness.collector.stop()
    await once(unused.socket, 'close')
    const late = openGrpc(url)
    expect((await late.send(Buffer.alloc(0))).code).toBe(14)
    await release()
    const codes = (await Promise.all(answers)).map(({ code }) => code)
    expect(codes).toEqual(spans.map(() => 0))
    await stopped
    const ids = spans.map(({ traceId = '' }) => traceId)
    const stored = await harness.sql`select from spans where trace_id = any(${ids}::uuid[])`
    expect(stored.length).toBe(CALLS)
    client.close()
    late.close()
  })
})
