import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connectDatabase, parseAddress } from '../../../services/shared/database.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { freePort } from '../../support/free-port.ts'
import { environment, postTo } from './support/harness.ts'
import { requestOf, spanOf, toProtobuf } from './support/otlp.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase('empty')
})
afterAll(() => database.drop())

const main = new URL('../../../services/collector/main.ts', import.meta.url).pathname

/** A collector in a process of its own, as it runs in its container. */
async function spawnCollector(port: number): Promise<ChildProcess> {
  const env = {
    ...process.env,
    ...environment(database.url),
    PORT: String(port),
    LOG_LEVEL: 'error',
  }
  const child = spawn(process.execPath, ['--import', 'tsx', main], { env, stdio: 'inherit' })
  for (;;) {
    const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    if (health?.status === 200) return child
    if (child.exitCode !== null) throw new Error('the collector ended')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

it('loses no acknowledged span, and stores none twice, when it is killed under load (SPEC 1.5)', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child = await spawnCollector(port)
  const acknowledged: string[] = []
  let sent = 0
  let isLoading = true
  const client = async (): Promise<void> => {
    while (isLoading) {
      const spans = Array.from({ length: 20 }, () => spanOf())
      const body = toProtobuf(requestOf(...spans))
      sent += spans.length
      // As an exporter does: the same bytes until they are taken.
      for (let isTaken = false; !isTaken;) {
        const response = await postTo(url, body).catch(() => undefined)
        isTaken = response?.status === 200
        if (!isTaken) await new Promise((resolve) => setTimeout(resolve, 20))
      }
      acknowledged.push(...spans.map(({ traceId = '' }) => traceId))
    }
  }
  const clients = Array.from({ length: 8 }, client)
  for (let kills = 0; kills < 3; kills++) {
    const before = acknowledged.length
    await expect.poll(() => acknowledged.length, { timeout: 10_000 }).toBeGreaterThan(before + 400)
    child.kill('SIGKILL')
    await once(child, 'exit')
    child = await spawnCollector(port)
  }
  isLoading = false
  await Promise.all(clients)
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 1 })
  const [counts] = await sql`
    select count(*)::int as rows, count(distinct (trace_id, span_id))::int as spans,
      (select count(*)::int from unnest(${acknowledged}::text[]) as given (id)
        where not exists (select from spans where trace_id = given.id::uuid)) as missing
    from spans`
  expect(counts).toEqual({ rows: sent, spans: sent, missing: 0 })
  await sql.end()
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
}, 60_000)
