import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../../services/collector/env.ts'
import { recordRetention } from '../../../services/collector/store/spans/record-retention.ts'
import { dropOldest } from '../../../services/collector/store/spans/retention.ts'
import { openColdDays } from '../../../services/collector/store/archive/cold-days.ts'
import { createEraser } from '../../../services/collector/store/erasures/erase-trace.ts'
import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { citusUrl } from '../../support/citus.ts'
import { programPath } from '../../support/program.ts'
import { until } from '../../support/until.ts'
import { answerOf, DAY_MS, dateOf, idOf, NOON, openArchive, traceOf } from './support/cold-days.ts'
import { clockAt, createHarness, environment, SECRET, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

const HOT = 'COLLECTOR_HOT_DAYS'
const SOONER = 'COLLECTOR_ORGANIZATION_HOT_DAYS'

describe('the days after which traces of an organization are archived', () => {
  const configOf = (days: string, env: Record<string, string> = { [HOT]: '4' }) =>
    readConfig({
      COLLECTOR_JWT_SECRET: SECRET,
      COLLECTOR_ARCHIVE_DIRECTORY: '/archive',
      ...env,
      [SOONER]: days,
    })

  it('are read by organization, and are never more than those of all', () => {
    expect([...(configOf('{"acme":"2","":4}')[SOONER] ?? [])]).toEqual([
      ['acme', 2],
      ['', 4],
    ])
    expect(() => configOf('{"acme":5}')).toThrow(
      /COLLECTOR_ORGANIZATION_HOT_DAYS cannot .* than COLLECTOR_HOT_DAYS .* 4 days.*"acme":5/,
    )
    expect(() => configOf('{"acme":1}', {})).toThrow(SOONER)
  })
})

describe.skipIf(citusUrl !== undefined)('what an organization has of a day', () => {
  let harness: Harness
  let directory: string
  let opened: ReturnType<typeof openArchive>
  const traces = {
    [A]: [traceOf(5), traceOf(6, 1000, 'Where is the quokka?')],
    [B]: [traceOf(5, 2000)],
    '': [traceOf(5, 3000)],
  }
  const [first = [], second = []] = traces[A] ?? []
  /** One span on one day, and one on the next. */
  const moving = [traceOf(8)[0] ?? {}].flatMap((root) => [
    root,
    spanOf({
      traceId: root.traceId ?? '',
      parentSpanId: root.spanId ?? '',
      startTimeUnixNano: nanos(NOON - 7 * DAY_MS),
    }),
  ])
  const owners = [A, B, undefined]
  const since = dateOf(8)
  const paths = (): string[] => [
    '/api/traces?attribute=gen_ai.usage.input_tokens%3D70',
    '/api/traces/totals?attribute=gen_ai.usage.input_tokens%3D70',
    ...Object.values(traces)
      .flat()
      .map((spans) => `/api/traces/${idOf(spans)}`),
    '/api/traces?text=okapi',
    '/api/traces?excerpts=100',
    `/api/traces/totals?from=${since}`,
    `/api/export?from=${since}`,
  ]
  const answers = async (): Promise<Record<string, string>> => {
    const found: Record<string, string> = {}
    for (const organization of owners) {
      for (const path of paths()) {
        found[`${organization} ${path}`] = await answerOf(harness, organization, path)
      }
    }
    return found
  }
  /** Whose spans are in the partition, and whose in files. */
  const places = async () => {
    const owned = (rows: readonly { organization: string }[]) =>
      rows.map(({ organization }) => organization)
    return {
      hot: owned(
        await harness.sql<{ organization: string }[]>`
          select distinct organization from spans where start_time < ${dateOf(3)}::timestamptz
          order by organization`,
      ),
      cold: owned(
        await harness.sql<{ organization: string }[]>`
          select distinct organization from cold_files order by organization`,
      ),
    }
  }
  let before: Record<string, string>
  const configure = (...days: readonly (readonly [organization: string, days: number])[]) => {
    const organizationHotDays = new Map(days)
    return recordRetention(harness.sql, { retentionWeeks: 2, hotDays: 10, organizationHotDays })
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'parts-'))
    const env = { COLLECTOR_ARCHIVE_DIRECTORY: directory, RETENTION_WEEKS: '2' }
    harness = await createHarness(env, { program: programPath('collector') })
    opened = openArchive(harness, directory)
    for (const [organization, sent] of Object.entries(traces)) {
      const tenant = tenantOf(harness, organization === '' ? undefined : organization)
      expect(await tenant.send(toProtobuf(requestOf(...sent.flat())))).toBe(200)
    }
    await harness.rolledUp()
    await harness.extracted()
    before = await answers()
    await configure(['gone', 3], [A, 2])
    await configure([A, 1])
  })
  afterAll(async () => {
    await harness.stop()
    await rm(directory, { recursive: true })
  })

  it('is archived after the days that are configured now, and no others', async () => {
    const days = await harness.sql`select organization, days from organization_hot_days`
    expect([...days]).toEqual([{ organization: A, days: 1 }])
  })

  it('is archived before what others have, wherever that was cut off', async () => {
    let isDone = false
    for (let failsAt = 1; !isDone; failsAt++) {
      expect(failsAt).toBeLessThan(12)
      let calls = 0
      const mayCall = (): void => {
        if (++calls >= failsAt) throw new Error('the store is gone')
      }
      // A hold that is put on a trace meanwhile keeps nothing from beginning anew.
      if (failsAt === 4)
        await harness.sql`
          insert into held_traces (organization, hold_id, trace_id)
          values (${A}, gen_random_uuid(), ${idOf(first)}::uuid)`
      const { failed } = await opened.archive({
        ...opened.store,
        async write(...given) {
          mayCall()
          await opened.store.write(...given)
        },
        async *read(path) {
          mayCall()
          yield* opened.store.read(path)
        },
      })
      isDone = failed === 0
    }
    expect(await places()).toEqual({ hot: ['', B].toSorted(), cold: [A] })
    expect(await opened.verify(5)).toEqual({ traces: 1, spans: 2 })
    expect(await opened.archive()).toEqual({ archived: 0, failed: 0 })
    await harness.sql`delete from held_traces`
  })

  it('is answered as before to its owner and to the platform, and to no other', async () => {
    for (let times = 0; times < 2; times++) {
      expect(await answers()).toEqual(before)
      expect(before[`${B} /api/traces/${idOf(first)}`]).toMatch(/^404 /)
      const restored = await harness.sql`select distinct organization from restored_traces`
      expect(restored).toEqual([{ organization: A }])
      await opened.release()
      expect((await places()).hot).toEqual(['', B].toSorted())
    }
  })

  it('takes no more spans, whatever the days are then, and those of others do', async () => {
    const other = await harness.another()
    const send = async (organization: string): Promise<string> => {
      const span = spanOf({ startTimeUnixNano: nanos(NOON - 5 * DAY_MS) })
      const authorization = await authorizationOf({ organization })
      const response = await fetch(`${other.url}/v1/traces`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/x-protobuf' },
        body: new Uint8Array(toProtobuf(requestOf(span))),
      })
      return response.text()
    }
    expect(await send(A)).toContain('Spans were rejected: 1 too_old.')
    expect(await send(B)).toBe('')
    await other.stop()
    await harness.rolledUp()
  })

  it('is deleted in its files', async () => {
    const authorization = await authorizationOf({ scopes: ['traces:delete'], organization: A })
    const url = `${harness.collector.url}/api/traces/${idOf(second)}`
    expect((await fetch(url, { method: 'DELETE', headers: { authorization } })).status).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
    expect(await opened.filesOf(6)).toEqual([])
    expect(await answerOf(harness, A, `/api/traces/${idOf(second)}`)).toMatch(/^404 /)
  })

  it('is part of its day again once the rest is archived, in the same files', async () => {
    const asked = [first, ...(traces[B] ?? [])].map((spans) => `/api/traces/${idOf(spans)}`)
    const former = await opened.filesOf(5)
    // What was brought back stays while it is read.
    expect(await answerOf(harness, A, asked[0] ?? '')).toMatch(/^200 /)
    await harness.sql`update retention set hot_days = 1`
    expect(await opened.archive()).toEqual({ archived: 2, failed: 0 })
    expect(await opened.hotSpans(5)).toBe(2)
    expect(await opened.filesOf(5)).toEqual(expect.arrayContaining(former))
    expect(await harness.sql`select from archived_parts`).toHaveLength(0)
    await opened.release()
    expect(await places()).toEqual({ hot: [], cold: ['', A, B].toSorted() })
    for (const path of asked) {
      const owner = path === asked[0] ? A : B
      expect(await answerOf(harness, owner, path)).toBe(before[`${owner} ${path}`])
    }
  })

  it('stays readable when the rest of its day is dropped early to make space', async () => {
    await configure([A, 1])
    const [ours, theirs] = [traceOf(3), traceOf(3)]
    expect(await tenantOf(harness, A).send(toProtobuf(requestOf(...ours)))).toBe(200)
    expect(await tenantOf(harness, B).send(toProtobuf(requestOf(...theirs)))).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
    expect(await opened.archive()).toEqual({ archived: 1, failed: 0 })
    const address = parseAddress(harness.databaseUrl)
    const clock = clockAt(Date.now)
    const dropped = await dropOldest({ address, clock, log: silent, maxBytes: 1 })
    expect(dropped).toContain(`spans_${dateOf(3).replaceAll('-', '')}`)
    expect(await answerOf(harness, A, `/api/traces/${idOf(ours)}`)).toMatch(/^200 /)
    expect(await answerOf(harness, B, `/api/traces/${idOf(theirs)}`)).toMatch(/^404 /)
  })

  it('is not dropped while a turn of the roll-ups may be summing it up', async () => {
    await harness.sql`update organization_hot_days set days = 6`
    expect(await tenantOf(harness, A).send(toProtobuf(requestOf(...moving)))).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
    const turn = connectDatabase(parseAddress(harness.databaseUrl), { name: 'test', max: 1 })
    await turn`select pg_advisory_lock(${LEADER_LOCK}::int8)`
    const archived = opened.archive()
    await until(async () => {
      const waiting = await harness.sql`
        select from pg_locks where locktype = 'advisory' and not granted and database = (
          select oid from pg_database where datname = current_database())`
      return waiting.length > 0
    })
    expect(await opened.hotSpans(8)).toBe(1)
    await turn.end()
    expect(await archived).toEqual({ archived: 1, failed: 0 })
    expect(await opened.hotSpans(8)).toBe(0)
  })

  it('is deleted again where more of it is archived in the middle of a deletion', async () => {
    await harness.sql`update organization_hot_days set days = 5`
    const source = { ...environment(harness.databaseUrl), COLLECTOR_ARCHIVE_DIRECTORY: directory }
    const program = programPath('collector')
    const cold = openColdDays(readConfig(source), { program, source, log: silent })
    if (!cold) throw new Error('There is a store.')
    const eraser = createEraser(parseAddress(harness.databaseUrl), {
      cold: {
        ...cold,
        async without(...given) {
          await opened.archive()
          return cold.without(...given)
        },
      },
    })
    const traceId = idOf(moving).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const erase = () =>
      eraser.erase({ traceId, organization: A, issuer: undefined, tokenId: undefined })
    await expect(erase()).rejects.toMatchObject({ code: 'conflict' })
    expect(await opened.hotSpans(7)).toBe(0)
    expect(await erase()).toMatchObject({ spans: 2 })
    await eraser.close()
    cold.close()
    expect([await opened.filesOf(7), await opened.filesOf(8)]).toEqual([[], []])
  })

  it('is not written again after a run that was cut off between its two commits', async () => {
    await harness.sql`insert into organization_hot_days values (${B}, 1)`
    const spans = traceOf(4, 6000)
    expect(await tenantOf(harness, B).send(toProtobuf(requestOf(...spans)))).toBe(200)
    await harness.rolledUp()
    await harness.extracted()
    await harness.sql`
      create function cut_off() returns trigger language plpgsql as $$
      begin raise 'cut off'; end $$`
    await harness.sql`
      create trigger cut_off before update on archived_parts for each row
      when (new.state = 'dropped') execute function cut_off()`
    expect(await opened.archive()).toMatchObject({ archived: 0 })
    await harness.sql`drop trigger cut_off on archived_parts`
    const files = await opened.filesOf(4)
    expect([files.length, await opened.hotSpans(4)]).toEqual([1, 2])
    const noWrites = { ...opened.store, write: () => Promise.reject(new Error('written')) }
    expect((await opened.archive(noWrites)).failed).toBe(0)
    expect([await opened.filesOf(4), await opened.hotSpans(4)]).toEqual([files, 0])
    expect(await answerOf(harness, B, `/api/traces/${idOf(spans)}`)).toMatch(/^200 /)
  })

  it('leaves nothing of a file whose writer was killed', async () => {
    const [path = ''] = await opened.filesOf(4)
    await writeFile(`${path}.unfinished`, 'half of it')
    await opened.store.remove(relative(directory, path))
    expect(await opened.filesOf(4)).toEqual([])
  })
})
