import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { retryStatement } from '../../../../services/worker/run/retry-statement.ts'
import { keepLease } from '../../../../services/worker/run/hold-run.ts'

/** Long enough for a busy machine to be late. */
const LEASE_MS = 3000

/** Keeps a lease with the given answers, in order; resolves when it is lost. */
function keep(...answers: (() => Promise<boolean>)[]) {
  let renewals = 0
  let stop = (): void => {}
  const lost = new Promise<number>((resolve) => {
    const renew = (): Promise<boolean> => {
      const answer = answers[Math.min(renewals, answers.length - 1)]
      renewals += 1
      return answer?.() ?? Promise.resolve(false)
    }
    const onLost = (): void => resolve(renewals)
    stop = keepLease({ renew, everyMs: 5, leaseMs: LEASE_MS, retryMs: 20, onLost })
  })
  return { lost, renewals: () => renewals, stop: () => stop() }
}

const yes = async (): Promise<boolean> => true
const no = async (): Promise<boolean> => false
const fails = async (): Promise<boolean> => {
  throw new Error('the database is unavailable')
}
const hangs = (): Promise<boolean> => new Promise(() => {})

describe('the lease of a run', () => {
  it('is renewed until another worker holds the run', async () => {
    expect(await keep(yes, yes, no).lost).toBe(3)
  })

  it('survives a database that is unavailable for a moment', async () => {
    expect(await keep(yes, fails, fails, yes, no).lost).toBe(5)
  })

  it.each([
    ['fails', fails],
    ['hangs', hangs],
  ])('is given up before it runs out when the database %s', async (_, answer) => {
    const started = performance.now()
    const first = await Promise.race([keep(answer).lost, delay(LEASE_MS, 'it ran out')])
    expect(first).toEqual(expect.any(Number))
    expect(performance.now() - started).toBeGreaterThan(LEASE_MS * 0.75)
  })

  it('is not renewed any more once it is stopped', async () => {
    const { renewals, stop, lost } = keep(yes)
    await expect.poll(renewals).toBeGreaterThan(2)
    stop()
    const last = renewals()
    expect(await Promise.race([lost, new Promise((done) => setTimeout(done, 50, 'kept'))])).toBe(
      'kept',
    )
    expect(renewals()).toBe(last)
  })
})

describe('a statement that is repeated', () => {
  it('is done again until it succeeds', async () => {
    let tries = 0
    const statement = async (): Promise<string> => {
      tries += 1
      if (tries < 3) throw new Error('unavailable')
      return 'done'
    }
    expect(await retryStatement(statement, { forMs: 5000, waitMs: 1 })).toBe('done')
  })

  it('fails in the end, and at once when its run is let go of', async () => {
    await expect(retryStatement(fails, { forMs: 10, waitMs: 1 })).rejects.toThrow('unavailable')
    const signal = AbortSignal.abort()
    await expect(retryStatement(fails, { forMs: 60_000, signal })).rejects.toThrow('aborted')
  })
})
