import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFiles } from '../../../services/collector/store/archive/archive-files.ts'
import {
  createArchiveReader,
  openColdDays,
} from '../../../services/collector/store/archive/cold-days.ts'
import { forgetArchivedDays } from '../../../services/collector/store/archive/archived-days.ts'
import { readSpanFile } from '../../../services/collector/store/archive/span-file.ts'
import { readConfig } from '../../../services/collector/env.ts'
import { openAnswerReaders } from '../../../services/collector/read/answer-readers.ts'
import { listTraces, readListQuery } from '../../../services/collector/read/lists/trace-list.ts'
import type { ObjectStore } from '../../../services/shared/object-store/object-store.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { citusUrl } from '../../support/citus.ts'
import { freePort } from '../../support/free-port.ts'
import { programPath, runProgram } from '../../support/program.ts'
import {
  answerOf,
  DAY_MS,
  dateOf,
  idOf,
  NOON,
  ODD,
  openArchive,
  traceOf,
} from './support/cold-days.ts'
import { expireOnce } from './support/expiry.ts'
import { clockAt, createHarness, environment, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { A, authorizationOf, B, tenantOf } from './support/tokens.ts'

describe.skipIf(citusUrl !== undefined)('archived days', () => {
  let harness: Harness
  let directory: string
  let store: ObjectStore
  let opened: ReturnType<typeof openArchive>
  const traces = {
    old: traceOf(5),
    older: traceOf(6, 1000, 'Where is the quokka?'),
    // From one day into the next.
    long: [...traceOf(6, DAY_MS / 2 - 1000)],
    other: traceOf(5, 5000, 'Where is the numbat?'),
    late: traceOf(4, 0, 'Where is the tapir?'),
    recent: traceOf(0, -DAY_MS),
  }
  const [longRoot] = traces.long
  traces.long.push(
    spanOf({
      traceId: longRoot?.traceId ?? '',
      parentSpanId: longRoot?.spanId ?? '',
      startTimeUnixNano: nanos(NOON - 5 * DAY_MS - DAY_MS / 2 + 5000),
    }),
  )
  const archive = (through = store) => opened.archive(through)
  const verify = (daysAgo: number) => opened.verify(daysAgo)
  const filesOf = (daysAgo: number) => opened.filesOf(daysAgo)
  const hotSpans = (daysAgo: number) => opened.hotSpans(daysAgo)
  const release = () => opened.release()
  const since = new Date(NOON - 8 * DAY_MS).toISOString()
  const attributePaths = (): string[] => [
    ...[
      'session.id=session Where is the okapi?',
      `odd=${ODD}`,
      'gen_ai.usage.input_tokens=70',
      'gen_ai.usage.cost=0.0000001',
      'region=north',
      'region=south',
    ].flatMap((attribute) => {
      const asked = `attribute=${encodeURIComponent(attribute)}`
      return ['', '&sort=tokens', '&limit=2'].map((more) => `/api/traces?${asked}${more}`)
    }),
    `/api/traces?attribute=region%3Dnorth&to=${dateOf(4)}`,
    '/api/traces/totals?attribute=region%3Dnorth',
    `/api/traces/histogram?attribute=odd%3Da&from=${since}`,
  ]
  const paths = (): string[] => [
    ...attributePaths(),
    '/api/traces?attribute=region%3Dnorth&text=okapi',
    ...Object.values(traces).flatMap((spans) => {
      const path = `/api/traces/${idOf(spans)}`
      const span = `${path}/spans/${spans[1]?.spanId ?? ''}`
      return [path, `${path}?view=skeleton`, `${path}?view=summary`, span, `${path}/search?q=okapi`]
    }),
    '/api/traces?excerpts=200',
    '/api/traces?text=okapi',
    '/api/traces?text=quokka&sort=oldest',
    '/api/traces?text=absent',
    `/api/traces/histogram?from=${since}`,
    `/api/usage?from=${since}&by=model`,
    '/api/sessions?limit=3',
    `/api/export?from=${since}`,
    `/api/export?from=${since}&session=${encodeURIComponent('session Where is the okapi?')}`,
  ]
  /** For whom all of this is another's, and for whom it is all. */
  const sharedPaths = (): string[] =>
    paths().filter((path) => !/view=|spans|search|sort|totals|histogram|usage/.test(path))
  const answers = async (): Promise<Record<string, string>> => {
    const found: Record<string, string> = {}
    for (const organization of [A, undefined, B]) {
      for (const path of organization === A ? paths() : sharedPaths()) {
        found[`${organization} ${path}`] = await answerOf(harness, organization, path)
      }
    }
    return found
  }
  let before: Record<string, string>

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'archive-'))
    const env = { COLLECTOR_ARCHIVE_DIRECTORY: directory, RETENTION_WEEKS: '2' }
    harness = await createHarness(env, { program: programPath('collector') })
    opened = openArchive(harness, directory)
    store = opened.store
    for (const [name, spans] of Object.entries(traces)) {
      const tenant = tenantOf(harness, name === 'other' ? B : A)
      const region = textAttribute('region', name === 'late' ? 'south' : 'north')
      const resource = { attributes: [textAttribute('service.name', 'crew'), region] }
      const request = { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }
      expect(await tenant.send(toProtobuf(request))).toBe(200)
    }
    await harness.rolledUp()
    await harness.extracted()
    before = await answers()
    await harness.sql`update retention set hot_days = 1`
  })
  afterAll(async () => {
    await harness.stop()
    await rm(directory, { recursive: true })
  })

  it('are not dropped with spans that changed after they were compared', async () => {
    await harness.sql`
      insert into archived_days (day, state, fingerprint)
      values (${dateOf(4)}, 'verified', 'other')`
    const noStore = { ...store, write: () => Promise.reject(new Error('no')) }
    expect(await archive(noStore)).toEqual({ archived: 0, failed: 3 })
    const days = await harness.sql`select day::text, state, failure from archived_days order by day`
    expect(days).toMatchObject([
      { state: 'writing', failure: 'no' },
      { state: 'writing', failure: 'no' },
      { state: 'writing', failure: expect.stringContaining('changed') },
    ])
    expect(await hotSpans(4)).toBe(2)
  })

  it('are begun anew after a run that was cut off at any step, and lose nothing', async () => {
    let isDone = false
    for (let failsAt = 1; !isDone; failsAt++) {
      let calls = 0
      const mayCall = (): void => {
        if (++calls >= failsAt) throw new Error('the store is gone')
      }
      const { failed } = await archive({
        ...store,
        async write(...given) {
          mayCall()
          await store.write(...given)
        },
        async *read(path) {
          mayCall()
          yield* store.read(path)
        },
      })
      isDone = failed === 0
      // Nothing refers to what the runs before have written.
      const files = await harness.sql`select path from archived_files`
      expect(files.length).toBeLessThanOrEqual(5)
      if (failsAt > 12) throw new Error('it never ends')
    }
    expect([await hotSpans(5), await hotSpans(6), await hotSpans(1)]).toEqual([0, 0, 2])
  })

  it('answer as before, whoever asks, and once more when all was released again', async () => {
    for (let times = 0; times < 2; times++) {
      expect(await answers()).toEqual(before)
      expect(await hotSpans(5)).toBeGreaterThan(0)
      await release()
      expect([await hotSpans(5), await hotSpans(6)]).toEqual([0, 0])
    }
  })

  it('are filtered by attributes in their files, without bringing spans back', async () => {
    for (const path of attributePaths()) {
      expect(await answerOf(harness, A, path)).toBe(before[`${A} ${path}`])
    }
    expect([await hotSpans(5), await hotSpans(6)]).toEqual([0, 0])
  })

  it('are compared with what was written, on request', async () => {
    const run = (day: string) =>
      runProgram('collector', ['archive:verify', day], {
        DATABASE_URL: harness.databaseUrl,
        COLLECTOR_ARCHIVE_DIRECTORY: directory,
      })
    expect(await run(dateOf(5))).toMatchObject({
      code: 0,
      stdout: `${dateOf(5)}: 2 files, 3 traces and 5 spans agree.\n`,
    })
    expect(await run(dateOf(1))).toMatchObject({ code: 3 })
  })

  it('do not answer from files that were cut, changed or removed; other days do', async () => {
    const of = (spans: readonly OtlpSpan[]) => answerOf(harness, A, `/api/traces/${idOf(spans)}`)
    const [path = ''] = await filesOf(6)
    const content = await readFile(path)
    const changed = Buffer.from(content)
    changed[100] = (changed[100] ?? 0) ^ 1
    for (const damaged of [content.subarray(0, 2000), changed, undefined]) {
      if (damaged) await writeFile(path, damaged)
      else await rm(path)
      expect(await of(traces.older)).toMatch(/^503 .*The archived file day=/)
      expect(await of(traces.recent)).toMatch(/^200 /)
      expect(await of(traces.old)).toMatch(/^200 /)
      await expect(verify(6)).rejects.toThrow('The archived file day=')
    }
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
    expect(await of(traces.older)).toMatch(/^200 /)
    await release()
  })

  it('are looked through for an attribute as far as there is time, page by page', async () => {
    const env = { ...environment(harness.databaseUrl), COLLECTOR_ARCHIVE_DIRECTORY: directory }
    const cold = openColdDays(readConfig(env), {
      program: programPath('collector'),
      source: env,
      log: silent,
    })
    const address = parseAddress(harness.databaseUrl)
    const readers = openAnswerReaders(address, { replica: undefined, cold, log: silent })
    const found: string[] = []
    const timeouts: unknown[] = []
    let cursor: string | null = ''
    while (cursor !== null && timeouts.length < 1000) {
      const parameters = new URLSearchParams({ attribute: 'gen_ai.usage.input_tokens=70' })
      if (cursor !== '') parameters.set('cursor', cursor)
      const page = await listTraces(readers.for(A), readListQuery(parameters), {
        traces: 100,
        lookUps: 100,
        named: 100,
        budgetMs: 0,
      }).catch((thrown: unknown) => void timeouts.push(thrown))
      if (!page) continue
      found.push(...page.traces.map(({ trace_id }) => trace_id))
      cursor = page.next_cursor
    }
    await readers.close()
    cold?.close()
    expect(timeouts[0]).toMatchObject({ code: 'timeout' })
    expect(found.toSorted()).toEqual(
      Object.entries(traces)
        .flatMap(([name, spans]) => (name === 'other' ? [] : idOf(spans)))
        .toSorted(),
    )
  })

  it('count towards a trace that goes on afterwards', async () => {
    const late = spanOf({
      traceId: idOf(traces.long),
      parentSpanId: longRoot?.spanId ?? '',
      startTimeUnixNano: nanos(NOON - DAY_MS),
    })
    expect(await tenantOf(harness, A).send(toProtobuf(requestOf(late)))).toBe(200)
    await harness.rolledUp()
    const [row] = await harness.sql`
      select spans::int, llm_calls::int from traces where trace_id = ${idOf(traces.long)}::uuid`
    expect(row).toEqual({ spans: 4, llmCalls: 1 })
    const { text } = await tenantOf(harness, A).ask(`/api/traces/${idOf(traces.long)}?view=summary`)
    expect(JSON.parse(text)).toMatchObject({ spans: 4, llm_calls: 1 })
    await release()
  })

  it('are looked through for the text of a person, in any part of a span', async () => {
    const found: string[] = []
    for (let after: string | null | undefined; after !== null;) {
      const authorization = await authorizationOf({ scopes: ['traces:read'], organization: A })
      const response = await fetch(`${harness.collector.url}/api/mentions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ patterns: ['%session where is the okapi%'], after }),
      })
      const page = (await response.json()) as { trace_ids: string[]; next: string | null }
      found.push(...page.trace_ids.map((id) => id.replaceAll('-', '')))
      after = page.next
    }
    expect(found).toContain(idOf(traces.old))
    expect(found).not.toContain(idOf(traces.older))
    await release()
  })

  it('lose a trace that is deleted, in their files and in the search', async () => {
    const remove = async (organization: string): Promise<number> => {
      const authorization = await authorizationOf({ scopes: ['traces:delete'], organization })
      const url = `${harness.collector.url}/api/traces/${idOf(traces.old)}`
      return (await fetch(url, { method: 'DELETE', headers: { authorization } })).status
    }
    expect(await remove(B)).toBe(404)
    const former = await filesOf(5)
    expect(await remove(A)).toBe(200)
    await harness.rolledUp()
    await release()
    const left = await filesOf(5)
    expect(left).toHaveLength(2)
    expect(former.filter((path) => !left.includes(path))).toHaveLength(1)
    const tenant = tenantOf(harness, A)
    expect((await tenant.ask(`/api/traces/${idOf(traces.old)}`)).status).toBe(404)
    const found = JSON.parse((await tenant.ask('/api/traces?text=okapi')).text) as {
      traces: object[]
    }
    expect(found.traces).toHaveLength(2)
    expect(await verify(5)).toEqual({ traces: 2, spans: 3 })
    const ids = await harness.sql`select unnest(trace_ids)::text as id from text_signatures`
    expect(ids.map(({ id }) => id as string)).not.toContain(idOf(traces.old))
    expect(await remove(A)).toBe(404)
  })

  it('forget an organization whose spans have expired, file by file', async () => {
    const clock = clockAt(() => NOON)
    await expireOnce(harness.databaseUrl, { days: { [B]: 4 }, clock })
    await harness.rolledUp()
    expect((await tenantOf(harness, B).ask('/api/traces')).text).toContain('"traces":[]')
    await removeFiles({ sql: harness.sql, store })
    expect(await filesOf(5)).toHaveLength(1)
  })

  it('lose their files with their day', async () => {
    await harness.sql.unsafe(`drop table spans_${dateOf(6).replaceAll('-', '')}`)
    await forgetArchivedDays(harness.sql)
    await removeFiles({ sql: harness.sql, store })
    expect([await filesOf(6), (await filesOf(5)).length]).toEqual([[], 1])
  })
})

describe('the process that reads archived days', () => {
  it('may die, which is said, and is started again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'reader-'))
    const program = join(directory, 'main.mjs')
    await writeFile(
      program,
      `import { existsSync, writeFileSync } from 'node:fs'
       process.on('message', ({ nr }) => {
         if (existsSync('${directory}/died')) process.send({ nr, rewritten: [] })
         else writeFileSync('${directory}/died', ''), process.kill(process.pid, 'SIGKILL')
       })
       process.on('disconnect', () => process.exit())`,
    )
    const reader = createArchiveReader({ program, source: {}, log: silent })
    const task = { without: '', files: [] }
    await expect(reader.perform(task)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await reader.perform(task)).toEqual({ rewritten: [] })
    reader.close()
    await rm(directory, { recursive: true })
  })
})

describe('a file of archived days', () => {
  it('is read as an earlier version wrote it, which knew fewer columns', async () => {
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'trace_id', data: ['11111111-1111-1111-1111-111111111111'], type: 'UUID' },
        { name: 'name', data: ['work'], type: 'STRING' },
      ],
    })
    const rows = []
    for await (const row of readSpanFile(Buffer.from(buffer))) rows.push(row)
    expect(rows).toHaveLength(1)
    expect(rows[0]?.filter((value) => value !== null)).toEqual([
      '11111111-1111-1111-1111-111111111111',
      'work',
    ])
  })

  it('is unavailable while its store does not answer', async () => {
    const source = {
      ...environment('postgres://nobody@127.0.0.1:1/none'),
      COLLECTOR_ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      COLLECTOR_ARCHIVE_S3_BUCKET: 'backups',
      COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: 'access',
      COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: 'secret',
    }
    const program = programPath('collector')
    const cold = openColdDays(readConfig(source), { program, source, log: silent })
    const file = { path: 'day=2026-11-21/one.parquet', bytes: 1, sha256: '' }
    await expect(cold?.holdersOf({ key: 'k', value: 'v', resourceIds: [] }, file)).rejects.toThrow(
      'does not answer',
    )
    cold?.close()
  })
})
