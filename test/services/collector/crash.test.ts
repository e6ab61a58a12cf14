import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import type { EmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import { connectDatabase, parseAddress } from '../../../services/shared/database.ts'
import { freePort } from '../../support/free-port.ts'
import { bundleCollector, spawnCollector } from './support/bundle.ts'
import type { Bundle, CollectorProcess } from './support/bundle.ts'
import { audit, openLedger } from './support/ledger.ts'

/** The short form of `npm run test:faults`. */
describe('kills under load (SPEC 1.5)', () => {
  let directory: string
  let bundle: Bundle
  let server: EmbeddedPostgres
  let port: number
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'crash-'))
    await chmod(directory, 0o755)
    bundle = await bundleCollector()
    port = await freePort()
    server = await startServer()
  })
  afterAll(async () => {
    await server.stop()
    bundle.remove()
    await rm(directory, { recursive: true, force: true })
  })
  // Not the tests' shared server: this one is killed.
  const startServer = (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ directory: join(directory, 'data'), port })

  it('lose no acknowledged span and store none twice: the collector, then PostgreSQL', async () => {
    const databaseUrl = server.url
    let collector: CollectorProcess = await spawnCollector(bundle.main, { databaseUrl })
    const ownPort = Number(new URL(collector.url).port)
    const ledger = openLedger({ url: collector.url })
    const grows = async (): Promise<void> => {
      const reached = ledger.acknowledged.length + 400
      const length = () => ledger.acknowledged.length
      await expect.poll(length, { timeout: 15_000 }).toBeGreaterThan(reached)
    }
    for (let kills = 0; kills < 2; kills++) {
      await grows()
      await collector.kill('SIGKILL')
      collector = await spawnCollector(bundle.main, { databaseUrl, port: ownPort })
    }
    for (let kills = 0; kills < 2; kills++) {
      await grows()
      process.kill(server.pid, 'SIGKILL')
      await server.exited
      server = await startServer()
    }
    await grows()
    await ledger.stop()
    const sql = connectDatabase(parseAddress(databaseUrl), { name: 'test', max: 1 })
    const sent = ledger.acknowledged.length
    expect(await audit(sql, ledger.acknowledged)).toEqual({ rows: sent, spans: sent, missing: 0 })
    await sql.end()
    expect(await collector.kill('SIGTERM')).toBe(0)
  }, 60_000)
})
