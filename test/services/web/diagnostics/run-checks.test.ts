import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { passed } from '../../../../services/web/diagnostics/finding.ts'
import { createDiagnoses } from '../../../../services/web/diagnostics/diagnoses.ts'
import { COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import { RUN_CODES } from '../../../../services/web/diagnostics/run-codes.ts'
import { runChecks } from '../../../../services/web/diagnostics/run-checks.ts'
import type { BoundCheck, BoundChecks } from '../../../../services/web/diagnostics/run-checks.ts'

const sql = postgres('postgres://nobody@127.0.0.1:9/none')
const limits = { abortMs: 60, checkMs: 120, totalMs: 400 }

const check = (run: BoundCheck['run']): BoundCheck => ({ timeout: RUN_CODES.timeout, run })
const good = check(async () => passed())

const all = (given: Partial<BoundChecks> = {}, otherwise = good): BoundChecks =>
  ({
    ...Object.fromEntries(COMPONENT_NAMES.map((name) => [name, otherwise])),
    ...given,
  }) as BoundChecks

const run = (checks: BoundChecks, given = limits) =>
  runChecks({ checks, limits: given, sql, onResult: () => {} })

describe('running the checks (SPEC 8)', () => {
  it('runs all at the same time', async () => {
    let running = 0
    let most = 0
    const slow = check(async () => {
      running += 1
      most = Math.max(most, running)
      await delay(20)
      running -= 1
      return passed()
    })
    await run(all({}, slow))
    expect(most).toBe(COMPONENT_NAMES.length)
  })

  it('is complete whatever a check does', async () => {
    const results = await run(
      all({
        database: check(() => {
          throw new Error('at once')
        }),
        designer: check(() => Promise.reject(new Error('later'))),
        // eslint-disable-next-line prefer-promise-reject-errors
        auth: check(() => Promise.reject('no Error')),
        tools: check(() => Promise.reject(Object.create(null) as Error)),
        collector: check(() => new Promise(() => {})),
        oauth: check(
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason as Error))
            }),
        ),
        llm_connections: check(async () => {
          await delay(200)
          throw new Error('when nobody listens any more')
        }),
      }),
    )
    expect(Object.keys(results)).toEqual(COMPONENT_NAMES)
    expect(results.database.error).toBe('check failed: at once')
    expect(results.designer.error).toBe('check failed: later')
    expect(results.auth.error).toBe('check failed: no Error')
    expect(results.tools.error).toBe('check failed: something that has no text')
    expect(results.collector.error).toBe('TimeoutError: no answer within 120 ms')
    expect(results.oauth.error).toBe('TimeoutError: no answer within 60 ms')
    expect(results.llm_connections.error).toMatch(/^TimeoutError/)
    expect(results.platform_pods).toEqual({ status: 'ok', latency_ms: expect.any(Number) })
    for (const name of ['database', 'collector', 'oauth'] as const) {
      expect(results[name].details).toMatchObject({
        code: expect.any(String),
        remediation: expect.any(String),
      })
    }
    JSON.parse(JSON.stringify(results))
    await delay(150)
  })

  it('ends at the total limit even if the limit of a check does not hold', async () => {
    const hanging = check(() => new Promise(() => {}))
    const results = await run(all({ tools: hanging }), {
      abortMs: 5000,
      checkMs: 5000,
      totalMs: 80,
    })
    expect(results.tools.error).toBe('TimeoutError: no result within 80 ms')
    expect(results.database.status).toBe('ok')
  })

  it('leaves no timer behind', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    await run(all(), { abortMs: 60_000, checkMs: 60_000, totalMs: 60_000 })
    expect(timers()).toBe(before)
  })
})

describe('the probe of a pod', () => {
  const open = (checks: BoundChecks) =>
    createDiagnoses({
      checks,
      limits,
      environment: { platform: true, auth_provider: 'local', version: '1' },
      openDatabase: () => ({ sql, dispose: async () => {} }),
      present: (value) => value,
      onDiagnosis: () => {},
    })

  it('runs once for all who ask at the same time, and anew for those who ask later', async () => {
    let calls = 0
    const counted = check(async () => {
      calls += 1
      await delay(20)
      return passed()
    })
    const diagnoses = open(all({ database: counted }))
    const runs = await Promise.all(Array.from({ length: 50 }, () => diagnoses.start().done))
    expect(calls).toBe(1)
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1)
    await diagnoses.start().done
    expect(calls).toBe(2)
  })

  it('tells whoever joins late what is known already', async () => {
    let pass = (): void => {}
    const slow = check(() => new Promise((resolve) => (pass = () => resolve(passed()))))
    const diagnoses = open(all({ tools: slow }))
    diagnoses.start()
    // All others have passed by then: they wait for nothing.
    await setImmediate()
    const seen: string[] = []
    const joined = diagnoses.start()
    joined.onResult((name) => seen.push(name))
    expect(seen).toHaveLength(COMPONENT_NAMES.length - 1)
    pass()
    await joined.done
    expect(seen.at(-1)).toBe('tools')
  })

  it('remembers twenty runs, newest first', async () => {
    const diagnoses = open(all())
    const ids: string[] = []
    for (let count = 0; count < 23; count += 1) ids.unshift((await diagnoses.start().done).id)
    expect(diagnoses.past().map(({ id }) => id)).toEqual(ids.slice(0, 20))
  })
})
