import { describe, expect, it } from 'vitest'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import {
  CERTIFICATE_WARNINGS,
  warnOfCertificate,
  warnOfClock,
} from '../../../../services/web/diagnostics/time-warnings.ts'
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
