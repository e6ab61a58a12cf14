import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressUrl } from '../../../support/address-url.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { LIMITS } from '../../../../services/web/diagnostics/run-checks.ts'
import { codeOf, serveWeb } from './support/web.ts'
import type { WebOptions } from './support/web.ts'
import { blackHole, dripping, huge, resetting, silent } from './support/faults.ts'
import type { Fault } from './support/faults.ts'
import { startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'
import { busyness } from '../../../support/busyness.ts'
import { startDuration } from '../../../support/duration.ts'
import { isLong } from '../../../support/long.ts'

const RUNS = isLong ? 100 : 8

let dependencies: Dependencies

beforeAll(async () => {
  dependencies = await startDependencies()
})

afterAll(() => dependencies.stop())

/** A web service for which every single dependency does the same. */
function surrounded({ url, port }: Fault, limits = LIMITS): WebOptions {
  const options = dependencies.options({
    env: { OIDC_ISSUER_URL: url, COLLECTOR_URL: url, PLATFORM_OAUTH_API_BASE_URL: url },
    diagnostics: {
      limits,
      kubernetes: { ...dependencies.kubernetes.address, url },
      providerUrls: { openai: url },
    },
  })
  return { ...options, databaseUrl: withPort(options.databaseUrl, port) }
}

const withPort = (databaseUrl: string, port: number): string =>
  addressUrl({ ...parseAddress(databaseUrl), port })

setFlagsFromString('--expose-gc')
// The flag gives the function to contexts that are made after it.
const collectGarbage = runInNewContext('gc') as () => void

/**
 * The kinds of things that keep a process alive or grow; timers apart, for the test runner has some
 * that come and go.
 */
function resources(): { timers: number; others: Record<string, number> } {
  const { Timeout: timers = 0, ...others } = process
    .getActiveResourcesInfo()
    .reduce<Record<string, number>>(
      (counts, name) => ({ ...counts, [name]: (counts[name] ?? 0) + 1 }),
      {},
    )
  return { timers, others }
}

describe('dependencies that hang (SPEC 8)', () => {
  it.each([
    ['silence', silent],
    ['a black hole', blackHole],
  ] as const)(
    `%s from all ${COMPONENT_NAMES.length} is a complete report in time`,
    async (_, fault) => {
      const server = await fault()
      const web = await serveWeb(surrounded(server))
      const answer = startDuration('the report')
      const { http, report } = await web.report()
      answer.expectBelow(LIMITS.totalMs)
      expect(http).toBe(503)
      expect(report.status).toBe('fail')
      expect(Object.keys(report.components)).toEqual(COMPONENT_NAMES)
      for (const name of COMPONENT_NAMES) {
        const result = report.components[name]
        expect(result.status).toBe('fail')
        expect(result.error).toMatch(/^TimeoutError: /)
        expect(codeOf(result)).toMatch(/_timeout$|_unreachable$/)
        expect(result.latency_ms, `the check of ${name}; ${busyness()}`).toBeLessThan(
          LIMITS.totalMs,
        )
      }
      await web.close()
      await server.stop()
    },
  )

  it(`${RUNS} runs against silence leave no socket, no handle and no memory behind`, async () => {
    const server = await silent()
    const limits = { abortMs: 25, checkMs: 40, totalMs: 1000 }
    const web = await serveWeb(surrounded(server, limits))
    const run = async () => expect((await web.report()).http).toBe(503)
    for (let count = 0; count < RUNS / 4; count += 1) await run()
    const settled = async () => {
      await expect.poll(() => server.open()).toBe(0)
      // postgres.js and the sockets end what they began within this time.
      await delay(200)
      web.lines.length = 0
      collectGarbage()
    }
    await settled()
    const before = { ...resources(), heap: process.memoryUsage().heapUsed }
    for (let count = 0; count < RUNS; count += 1) await run()
    await settled()
    const { timers, others } = resources()
    expect(others).toEqual(before.others)
    expect(timers - before.timers).toBeLessThan(5)
    const grown = process.memoryUsage().heapUsed - before.heap
    // One kept socket or pool has more than this; a few runs grow by less than what is freed late.
    if (isLong) expect(grown / RUNS).toBeLessThan(20_000)
    await web.close()
    await server.stop()
  }, 180_000)

  it.each([
    ['resets', resetting],
    ['answers without an end', dripping],
    ['answers of 10 MB', huge],
  ] as const)('a report is complete with %s from all, and leaves no socket', async (_, fault) => {
    const server = await fault()
    const web = await serveWeb(surrounded(server, server.limits))
    const { http, report } = await web.report()
    expect(http).toBe(503)
    expect(Object.keys(report.components)).toHaveLength(COMPONENT_NAMES.length)
    await expect.poll(() => server.open()).toBe(0)
    await web.close()
    await server.stop()
  })
})

describe('the probe only looks (SPEC 4.1)', () => {
  /** What the database counts of rows written, since it was made. */
  async function writes(): Promise<unknown> {
    const [row] = await dependencies.sql`
      select sum(n_tup_ins) as inserted, sum(n_tup_upd) as updated, sum(n_tup_del) as deleted
      from pg_stat_user_tables`
    return row
  }

  it('writes no row, and works where nothing can be written', async () => {
    const web = await serveWeb(dependencies.options())
    await dependencies.sql`select pg_stat_force_next_flush()`
    const before = await writes()
    for (let count = 0; count < 3; count += 1) {
      expect((await web.report()).report.status).toBe('ok')
    }
    // A backend hands its counts over when it ends.
    await expect.poll(() => probesConnected()).toBe(0)
    expect(await writes()).toEqual(before)
    const { database } = parseAddress(dependencies.database.url)
    await dependencies.sql.unsafe(
      `alter database ${database} set default_transaction_read_only to on`,
    )
    expect((await web.report()).report.status).toBe('ok')
    await dependencies.sql.unsafe(`alter database ${database} reset default_transaction_read_only`)
    await web.close()
  })

  async function probesConnected(): Promise<number> {
    const rows = await dependencies.sql`
      select from pg_stat_activity
      where application_name = 'web-probe' and datname = current_database()`
    return rows.length
  }
})
