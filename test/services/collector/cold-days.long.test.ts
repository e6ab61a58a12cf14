import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { releaseRestored } from '../../../services/collector/store/archive/archived-days.ts'
import { createRequest, freshCopy } from '../../bench/support/requests.ts'
import { citusUrl } from '../../support/citus.ts'
import { programPath, runProgram } from '../../support/program.ts'
import { hasS3Server, startS3Server } from '../../support/s3-server.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { nanos, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { ask } from './support/reading.ts'

const NOON = Math.floor(Date.now() / 86_400_000 - 5) * 86_400_000 + 43_200_000
const DAY = new Date(NOON).toISOString().slice(0, 10)
const PARTITION = `spans_${DAY.replaceAll('-', '')}`
const REQUESTS = 40
const KILLS = 20

const READ = `
import sys, duckdb, pyarrow.parquet as pq
files = sys.argv[1] + '/*.parquet'
columns = 'count(*), count(distinct trace_id), sum(input_tokens)'
print(duckdb.sql(f"select {columns} from '{files}'").fetchall())
print(sum(pq.read_table(f).num_rows for f in __import__('glob').glob(files)))`
const hasDuckDb = spawnSync('python3', ['-c', 'import duckdb, pyarrow']).status === 0
if (!hasDuckDb)
  console.log('No duckdb and pyarrow for python3: archived days are not read by them.')

describe.skipIf(!hasS3Server || citusUrl !== undefined)('a day in a bucket', () => {
  let harness: Harness
  let server: Awaited<ReturnType<typeof startS3Server>>
  let env: Record<string, string>
  const sum = async (): Promise<unknown> =>
    (
      await harness.sql`
        select count(*)::int as spans, count(distinct trace_id)::int as traces,
          sum(input_tokens)::int as tokens from spans`
    )[0]
  const isDropped = async (): Promise<boolean> => {
    const rows = await harness.sql`
      select from archived_days where day = ${DAY} and state = 'dropped'`
    return rows.length === 1
  }
  const release = async (): Promise<void> => {
    await harness.sql`update restored_traces set restored_at = now() - interval '1 hour'`
    await releaseRestored(harness.sql)
  }
  /** On a busy machine an answer may take too long; what was brought back by then stays. */
  const answer = async (path: string): Promise<{ text: string; ms: number }> => {
    const started = performance.now()
    for (let tries = 1; ; tries++) {
      const response = await ask(harness, path)
      const text = await response.text()
      if (response.status === 200) return { text, ms: Math.round(performance.now() - started) }
      if (response.status !== 504 || tries === 20) throw new Error(text)
    }
  }
  let expected: unknown
  const needle = spanOf({
    startTimeUnixNano: nanos(NOON),
    attributes: [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute(
        'gen_ai.input.messages',
        JSON.stringify([{ role: 'user', content: 'a zyzzyva' }]),
      ),
    ],
  })

  beforeAll(async () => {
    server = await startS3Server()
    env = {
      COLLECTOR_ARCHIVE_S3_ENDPOINT: server.endpoint,
      COLLECTOR_ARCHIVE_S3_BUCKET: 'backups',
      COLLECTOR_ARCHIVE_S3_ACCESS_KEY_ID: server.login.accessKeyId,
      COLLECTOR_ARCHIVE_S3_SECRET_ACCESS_KEY: server.login.secretAccessKey,
      RETENTION_WEEKS: '2',
    }
    harness = await createHarness(env, { program: programPath('collector') })
    for (const [profile, spans] of [
      ['llm', 256],
      ['light', 512],
    ] as const) {
      for (let nr = 0; nr < REQUESTS; nr++) {
        const template = createRequest(profile, { spans, seed: nr + 1, nowMs: NOON + nr * 60_000 })
        expect((await harness.post(freshCopy(template, nr))).status).toBe(200)
      }
    }
    expect((await harness.post(toProtobuf(requestOf(needle)))).status).toBe(200)
    await harness.rolledUp()
    await harness.sql`update retention set hot_days = 1`
    expected = await sum()
    // Texts are read at leisure; a day with such notes is not due.
    for (let tries = 0; tries < 1200; tries++) {
      if ((await harness.sql`select from traces_to_extract limit 1`).length === 0) break
      await delay(250)
    }
  }, 400_000)
  afterAll(async () => {
    await harness.stop()
    server.stop()
  })

  it('is whole however often what archives it is killed, and answers fast from files', async () => {
    const program = { ...env, DATABASE_URL: harness.databaseUrl, LOG_LEVEL: 'error' }
    const times = { archived: 0 }
    for (let kills = 0; kills < KILLS; kills++) {
      const child = spawn(process.execPath, [programPath('collector'), 'archive'], {
        env: { PATH: process.env['PATH'], ...program },
        stdio: 'ignore',
      })
      const ended = once(child, 'exit')
      await Promise.race([ended, delay(400 + kills * 250)])
      child.kill('SIGKILL')
      await ended
      if (await isDropped()) break
      expect(await sum()).toEqual(expected)
    }
    // The database may not have noticed yet that the last one is gone.
    for (let isDone = false; !isDone;) {
      const started = performance.now()
      const { code } = await runProgram('collector', ['archive'], program)
      times.archived = Math.round(performance.now() - started)
      isDone = code === 0 && (await isDropped())
      if (!isDone) await delay(500)
    }
    expect(await harness.sql`select from ${harness.sql(PARTITION)}`).toHaveLength(0)
    const [files] = await harness.sql`
      select sum(bytes)::float8 / sum(spans)::float8 as bytes, count(*)::int as files
      from archived_files`
    const one = await answer(`/api/traces/${needle.traceId ?? ''}`)
    const again = await answer(`/api/traces/${needle.traceId ?? ''}?view=skeleton`)
    await release()
    const rare = await answer(`/api/traces?text=zyzzyva&from=${DAY}`)
    const absent = await answer(`/api/traces?text=xylophagous&from=${DAY}`)
    const common = await answer(`/api/traces?text=crew&from=${DAY}&limit=10`)
    await release()
    const filter = `/api/traces?attribute=gen_ai.operation.name%3Dabsent&from=${DAY}`
    const filtered = await answer(filter)
    const filteredAgain = await answer(filter)
    const list = await answer(`/api/traces?excerpts=100&limit=50&from=${DAY}`)
    console.log({
      ...files,
      archiveMs: times.archived,
      traceMs: one.ms,
      warmMs: again.ms,
      rareMs: rare.ms,
      absentMs: absent.ms,
      commonMs: common.ms,
      listMs: list.ms,
      filteredMs: filtered.ms,
      filteredAgainMs: filteredAgain.ms,
    })
    expect(rare.text).toContain(needle.traceId ?? '')
    const verified = await runProgram('collector', ['archive:verify', DAY], program)
    expect(verified).toMatchObject({ code: 0, stderr: '' })
    await release()
    const exported = await answer(`/api/export?from=${DAY}`)
    const { spans } = expected as { spans: number }
    expect(exported.text.match(/"spanId"/g)).toHaveLength(spans)
    expect(await sum()).toEqual(expected)
  }, 400_000)

  it.skipIf(!hasDuckDb)('is read by DuckDB and by pandas', () => {
    const directory = `${server.directory}/archive/day=${DAY}`
    const { stdout, stderr } = spawnSync('python3', ['-c', READ, directory], { encoding: 'utf8' })
    const { spans, traces, tokens } = expected as Record<string, number>
    expect([stderr, stdout]).toEqual(['', `[(${spans}, ${traces}, ${tokens})]\n${spans}\n`])
  })
})
