import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { citusUrl } from '../../support/citus.ts'
import { createHarness, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'

describe('a database that refuses to write for now (SPEC 1.5)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({}, { ackTimeoutMs: 300 * slowness })
  })
  afterAll(() => harness.stop())

  const stored = async (traceId = ''): Promise<number> =>
    (await harness.sql`select from spans where trace_id = ${traceId}::uuid`).length

  /**
   * Sends a span that cannot be written, restores the database, and expects the span to be there
   * without another try.
   */
  async function expectRetry(
    sqlstateClass: string,
    restore: () => Promise<unknown>,
  ): Promise<void> {
    const span = spanOf()
    const body = toProtobuf(requestOf(span))
    const refused = await harness.post(body)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    const retries = { sqlstate_class: sqlstateClass }
    // The sender may have been told before: the first try may only find its connection closed.
    await expect
      .poll(() => harness.metric('collector_flush_retries_total', retries))
      .toBeGreaterThan(0)
    await restore()
    await expect.poll(() => stored(span.traceId)).toBe(1)
    // On a busy machine an answer may take longer than senders are made to wait here.
    await expect.poll(async () => (await harness.post(body)).status).toBe(200)
    expect(await stored(span.traceId)).toBe(1)
    expect(await harness.sql`select from span_rejects`).toEqual([])
  }

  // Citus takes triggers on tables of one node only; the note belongs to the same transaction.
  const table = citusUrl === undefined ? 'spans' : 'touched_traces'

  it.each([
    ['53100', 'the disk is full'],
    ['53200', 'it is out of memory'],
    ['55P03', 'a lock is not to be had'],
    ['57P03', 'it is starting up'],
    ['58030', 'the disk fails'],
    ['XX000', 'it is at a loss'],
    ['42501', 'a permission is missing'],
  ])('keeps the spans and tries again: %s, %s', async (sqlstate) => {
    // For the whole class of failures that cannot be brought about here.
    await harness.sql.unsafe(`
      create or replace function refuse() returns trigger language plpgsql as $$
      begin raise exception 'not now' using errcode = '${sqlstate}'; end $$`)
    await harness.sql.unsafe(`
      create trigger refuse before insert on ${table} for each statement execute function refuse()`)
    const drop = () => harness.sql`drop trigger refuse on ${harness.sql(table)}`
    await expectRetry(sqlstate.slice(0, 2), drop)
  })

  it('keeps the spans and tries again: 25006, all transactions are read-only', async () => {
    const setting = async (value: string): Promise<void> => {
      const name = new URL(harness.databaseUrl).pathname.slice(1)
      await harness.sql`set default_transaction_read_only = off`
      await harness.sql.unsafe(
        `alter database "${name}" set default_transaction_read_only = ${value}`,
      )
      // Sessions that are open keep the setting they have.
      await harness.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = ${name} and application_name = 'collector-writer'`
    }
    await setting('on')
    await expectRetry('25', () => setting('off'))
  })
})
