import { describe, expect, it } from 'vitest'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import {
  CERTIFICATE_WARNINGS,
  warnOfCertificate,
  warnOfClock,
} from '../../../../services/web/diagnostics/time-warnings.ts'
import {
  readDatabaseSizes,
  recordDatabaseSize,
} from '../../../../services/platform/database-sizes.ts'
import { createDatabase } from '../../../support/postgres.ts'
import { useInstallation } from './support/installation.ts'
import { resultOf, warningsOf } from './support/web.ts'

const installation = useInstallation()

describe('the queue', () => {
  const designer = () => resultOf('designer', { databaseUrl: installation.url })

  it('is told, and warns of a run that nobody takes until somebody does', async () => {
    expect((await designer()).details).toMatchObject({ queue: { due: 0, oldest_seconds: 0 } })
    await installation.sql`
      insert into executions (deployment_id, inputs, queued_at, available_at)
      select id, '{}', now() - interval '10 minutes', now() - interval '10 minutes'
      from deployments limit 1`
    const waiting = await designer()
    expect(waiting).toMatchObject({ status: 'ok', details: { queue: { due: 1 } } })
    expect(warningsOf(waiting)).toMatchObject([
      { code: 'queue_stalled', message: expect.stringMatching(/waiting for a worker for 60\d s/) },
    ])
    await takeRuns(installation.sql, 10)
    const taken = await designer()
    expect(taken.details).toMatchObject({ queue: { due: 0, running: 1 } })
    expect(warningsOf(taken)).toBeUndefined()
  })
})

describe('a warning of time', () => {
  it.each([
    [31_000, 'the clock of the x is 31 s ahead of that of this pod'],
    [-31_000, 'the clock of the x is 31 s behind that of this pod'],
    [29_000, undefined],
    [undefined, undefined],
  ])('for a clock with a skew of %s ms', (skewMs, message) => {
    expect(warnOfClock('x', skewMs)[0]?.message).toBe(message)
  })

  it.each([
    [13, CERTIFICATE_WARNINGS.certificate_expires.code],
    [-1, CERTIFICATE_WARNINGS.certificate_expires.code],
    [15, undefined],
  ])('for a certificate that expires in %s days', (days, code) => {
    const certificateExpires = new Date(Date.now() + days * 86_400_000)
    const answer = { status: 200, json: {}, certificateExpires }
    expect(warnOfCertificate('x', answer)[0]?.code).toBe(code)
  })
})

describe('the disk of the main database', () => {
  // Databases of other tests come and go.
  const DAY = 2 ** 30
  const database = (DB_VOLUME_SIZE: string) =>
    resultOf('database', { databaseUrl: installation.url, env: { DB_VOLUME_SIZE } })
  const sizeNow = async (): Promise<number> => {
    const { bytes, otherBytes } = await readDatabaseSizes(installation.sql)
    return bytes + otherBytes
  }
  /** So many days before today, the last one missing, with so much growth each. */
  const record = async (days: number, growth: number): Promise<void> => {
    await installation.sql`delete from database_sizes`
    await installation.sql`
      insert into database_sizes (day, bytes)
      select (now() at time zone 'UTC')::date - ago, 1e12 - ago * ${growth}::float8
      from generate_series(2, ${days}::int) ago`
  }

  it('is told once workers have recorded it, and forgets what is old', async () => {
    await record(80, DAY)
    await recordDatabaseSize(installation.sql)
    await recordDatabaseSize(installation.sql)
    const [row] = await installation.sql<[{ days: number; oldest: number }]>`
      select count(*)::int as days, (now() at time zone 'UTC')::date - min(day) as oldest
      from database_sizes`
    expect(row).toEqual({ days: 56, oldest: 56 })
    const { details } = await database('')
    expect(details?.size_bytes).toBeGreaterThan(2 ** 20)
    expect(details?.growth_bytes_per_day).toBe(DAY)
    expect(details?.warnings).toBeUndefined()
  })

  it.each([
    { of: '40 more days', left: 40 },
    { of: '20 more days', left: 20, message: 'grows by 1.00 GiB a day, and is full on ' },
    { of: 'too few days', days: 6, left: 20 },
    { of: 'a database that shrinks', growth: -DAY, left: 1 },
    { of: 'no room', growth: -DAY, left: -1, message: 'and leaves no room' },
  ])('is warned of with $of as it should be', async ({ days = 28, left, ...given }) => {
    const { growth = DAY, message } = given
    await record(days, growth)
    const volume = (await sizeNow()) + left * DAY + DAY / 2
    const result = await database(`${Math.round(volume)}`)
    expect(result.status).toBe('ok')
    const wanted = { code: 'db_storage_ends_soon', message: expect.stringContaining(`${message}`) }
    expect(warningsOf(result)).toEqual(message && [expect.objectContaining(wanted)])
  })

  it('is read while another database of the server is dropped', async () => {
    const other = await createDatabase()
    const sizes = await installation.sql.begin('isolation level repeatable read', async (tx) => {
      // What the transaction sees of the server from here on.
      await tx`select from pg_database limit 1`
      await other.drop()
      return readDatabaseSizes(tx)
    })
    expect(sizes.bytes).toBeGreaterThan(2 ** 20)
    expect(sizes.otherBytes).toBeGreaterThan(0)
  })

  it('is left out where it cannot be read, as by an older schema', async () => {
    await installation.sql`alter table database_sizes rename to lost`
    try {
      expect(await database('1Gi')).toMatchObject({ status: 'ok', checks: ['select_1'] })
    } finally {
      await installation.sql`alter table lost rename to database_sizes`
    }
  })
})
