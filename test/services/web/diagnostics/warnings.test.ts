import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { takeRuns } from '../../../../services/platform/run-queue.ts'
import { migrate } from '../../../../services/shared/postgres/migrate.ts'
import { createLog } from '../../../../services/shared/log.ts'
import {
  CERTIFICATE_WARNINGS,
  warnOfCertificate,
  warnOfClock,
} from '../../../../services/web/diagnostics/time-warnings.ts'
import { useInstallation } from './support/installation.ts'
import { httpServer, json } from './support/faults.ts'
import type { Fault } from './support/faults.ts'
import { resultOf, warningsOf } from './support/web.ts'

const installation = useInstallation()
const folder = new URL('../../../../services/platform/migrations/', import.meta.url)
const log = createLog({ name: 'test', level: 'silent' })

describe('a database that answers', () => {
  const schema = async (schemaVersion: number) =>
    warningsOf(
      await resultOf('database', { databaseUrl: installation.url, diagnostics: { schemaVersion } }),
    )

  it('warns of the schema of another version, until program and schema are the same', async () => {
    const version = await migrate(installation.sql, folder, log)
    expect(await schema(version + 1)).toMatchObject([{ code: 'schema_behind' }])
    expect(await schema(version - 1)).toMatchObject([{ code: 'schema_ahead' }])
    expect(await schema(version)).toBeUndefined()
  })
})

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

describe('the collector', () => {
  const well = { status: 'ok', database: 'up', storage: 'ok', clock: 'ok', days_held_back: 0 }

  it.each([
    [{ database: 'down' }, ['collector_database_down']],
    [{ storage: 'full' }, ['collector_storage_full']],
    [
      { clock: 'skewed', days_held_back: 2 },
      ['collector_clock_skewed', 'collector_retention_late'],
    ],
    [{ roll_ups: 'late' }, ['collector_roll_ups_late']],
  ])('warns while it is not well: %j', async (trouble, codes) => {
    for (const [health, expected] of [
      [{ ...well, status: 'degraded', ...trouble }, codes],
      [well, undefined],
    ] as const) {
      const server = await json(200, health)
      const env = { COLLECTOR_URL: server.url }
      const result = await resultOf('collector', { databaseUrl: installation.url, env })
      await server.stop()
      expect(result.status).toBe('ok')
      const found = warningsOf(result) as { code: string }[] | undefined
      expect(found?.map(({ code }) => code)).toEqual(expected)
    }
  })
})

describe('the identity provider', () => {
  let provider: Fault
  let skewMs = 0

  beforeAll(async () => {
    provider = await httpServer((request, response) => {
      const issuer = `http://${request.headers.host}`
      response.setHeader('date', new Date(Date.now() + skewMs).toUTCString())
      response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }))
    })
  })

  afterAll(() => provider.stop())

  it('warns of a clock that is wrong, until it is right', async () => {
    const client = { OIDC_CLIENT_ID: 'platform', OIDC_CLIENT_SECRET: 'x' }
    const env = { AUTH_PROVIDER: 'okta', OIDC_ISSUER_URL: provider.url, ...client }
    const ask = async () =>
      warningsOf(await resultOf('auth', { databaseUrl: installation.url, env }))
    skewMs = 3_600_000
    expect(await ask()).toMatchObject([
      { code: 'clock_skewed', message: expect.stringMatching(/ is 3[56]\d\d s ahead of/) },
    ])
    skewMs = 0
    expect(await ask()).toBeUndefined()
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
