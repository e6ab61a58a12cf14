import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemory } from '../../../services/collector/otlp/memory.ts'
import { createRowBuffer } from '../../../services/collector/otlp/row-buffer.ts'
import type { RowBuffer } from '../../../services/collector/otlp/row-buffer.ts'
import { createTranscoder } from '../../../services/collector/otlp/transcode.ts'
import { findStored, lookAtRows } from '../../../services/collector/store/spans/stored-rows.ts'
import { sortedRows } from '../../../services/collector/store/spans/sorted-rows.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { openCopyConnection } from '../../../services/shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../../services/shared/postgres/copy/copy-connection.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { takeCopy } from './support/memory.ts'
import { nanos, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'

const ALWAYS = { oldest: -(2 ** 53), newest: 2 ** 53 }

// On Citus nobody asks: what came before is merged.
describe.skipIf(citusUrl !== undefined)('rows that are stored already', () => {
  let harness: Harness
  let session: CopyConnection
  beforeAll(async () => {
    harness = await createHarness()
    session = await openCopyConnection(parseAddress(harness.databaseUrl), { name: 'test' })
  })
  afterAll(async () => {
    session.close()
    await harness.stop()
  })

  const rowsOf = (spans: readonly OtlpSpan[], organization = ''): RowBuffer => {
    const memory = createMemory(16 << 20)
    const buffer = createRowBuffer(takeCopy(memory, Buffer.alloc(1 << 20)), memory)
    const body = takeCopy(memory, toProtobuf(requestOf(...spans)))
    createTranscoder(memory)(body, buffer, { ...ALWAYS, organization })
    return buffer
  }
  const store = async (spans: readonly OtlpSpan[]): Promise<void> =>
    expect((await harness.post(toProtobuf(requestOf(...spans)))).status).toBe(200)

  it('are those with the same ids, start and organization', async () => {
    const span = spanOf()
    const day = 86_400_000
    await store([span, spanOf()])
    const others = [
      spanOf(),
      { ...span, spanId: 'ffffffffffffffff' },
      { ...span, startTimeUnixNano: nanos(Date.now() - day) },
    ]
    const found = await findStored(
      session,
      rowsOf([...others, span]),
      Uint32Array.from([0, 1, 2, 3]),
    )
    expect(found).toEqual(new Map([[3, true]]))
    const owner = `o'"\\ {},`
    expect(await findStored(session, rowsOf([span], owner), Uint32Array.from([0]))).toEqual(
      new Map(),
    )
  })

  it('may not stay when the row ends later', async () => {
    const now = Date.now()
    const ended = spanOf({ endTimeUnixNano: nanos(now + 10) })
    const pending = spanOf()
    delete pending.endTimeUnixNano
    await store([ended, pending])
    const later = { ...ended, endTimeUnixNano: nanos(now + 20) }
    const earlier = { ...ended, endTimeUnixNano: nanos(now + 9) }
    const done = { ...pending, endTimeUnixNano: nanos(now + 10) }
    const endless = { ...ended, endTimeUnixNano: '0' }
    const given = rowsOf([later, earlier, ended, done, pending, endless])
    const found = await findStored(session, given, Uint32Array.from([0, 1, 2, 3, 4, 5]))
    expect([...found]).toEqual([
      [0, false],
      [1, true],
      [2, true],
      [3, false],
      [4, true],
      [5, true],
    ])
  })

  it('tell by the first of a request that all of it came before', async () => {
    const [first, second, third] = [spanOf(), spanOf(), spanOf()]
    await store([first, third])
    const buffer = rowsOf([first, second, spanOf(), third])
    const look = await lookAtRows(session, buffer, {
      rows: Uint32Array.from([0, 1, 2, 3]),
      requests: [
        { firstRow: 0, endRow: 2 },
        { firstRow: 2, endRow: 4 },
      ],
    })
    expect([0, 1, 2, 3].map((row) => look.isRepeated(row))).toEqual([true, true, false, false])
  })

  it('are told from others: ends of traces, and spans that come twice', async () => {
    const begun = spanOf()
    delete begun.endTimeUnixNano
    const { parentSpanId: _none, ...root } = begun
    await store([root])
    const ended = { ...root, endTimeUnixNano: nanos(Date.now() + 10) }
    const twice = spanOf()
    const buffer = rowsOf([spanOf(), ended, twice, twice, spanOf()])
    const { isRepeated, isKnown } = await lookAtRows(session, buffer, {
      rows: sortedRows(buffer),
      // A request that begins with the end of a trace is none that came before.
      requests: [{ firstRow: 1, endRow: 5 }],
    })
    const rows = [0, 1, 2, 3, 4]
    expect(rows.map(isRepeated)).toEqual([false, false, false, false, false])
    expect(rows.map(isKnown)).toEqual([false, true, true, true, false])
  })

  it('fail no copy of the next ends of traces, once they were seen', async () => {
    // A sequence keeps what it counted of a copy that failed.
    await session.query(`
      create sequence tried;
      create function count_try() returns trigger language plpgsql as $$
      begin perform nextval('tried'); return new; end $$;
      create trigger counted before insert on spans for each row execute function count_try()`)
    const runAndEnd = async (): Promise<void> => {
      const { parentSpanId: _none, endTimeUnixNano: end, ...begun } = spanOf({ name: 'run' })
      const { spanId: parentSpanId, traceId } = begun
      await store([begun])
      const child = spanOf({ traceId, parentSpanId })
      await store([child, { ...begun, endTimeUnixNano: end }])
    }
    await runAndEnd()
    await session.query("select setval('tried', 1)")
    for (let run = 0; run < 5; run += 1) await runAndEnd()
    // The start of each, its end and its child, once.
    expect(await session.rows('select last_value - 1 from tried')).toEqual([['15']])
    const open = 'select count(*) from spans where duration_ns is null and name = $$run$$'
    expect(await session.rows(open)).toEqual([['0']])
  })
})
