import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFailureThrottle } from '../../../../../services/web/gate/callers/failure-throttle.ts'
import { openPlatformWithOauth, newCaller } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

let oauth: PlatformWithOauth

beforeAll(async () => {
  oauth = await openPlatformWithOauth()
})

afterAll(() => oauth.close())

const garbage = (): string => `pat_${randomBytes(32).toString('base64url')}`

async function statuses(count: number, call: (index: number) => Promise<Response>) {
  const all: number[] = []
  for (let index = 0; index < count; index += 1) all.push((await call(index)).status)
  return all
}

/**
 * The answers before the first 429: the budget grows meanwhile, so their number is the machine's.
 */
async function untilLimited(call: () => Promise<Response>): Promise<number[]> {
  const all: number[] = []
  while (all.length < 2000) {
    const { status } = await call()
    if (status === 429) return all
    all.push(status)
  }
  throw new Error('none of 2,000 calls was answered 429')
}

const from = (caller: Record<string, string>, token: string) => ({
  headers: { ...caller, authorization: `Bearer ${token}` },
})

describe('tokens that are nobody’s', () => {
  it('are answered 401 and then 429, also when each asks for another automation', async () => {
    const caller = newCaller()
    const answers = await untilLimited(() =>
      fetch(
        oauth.api('inputs', { ...oauth.acme.research, automationId: randomUUID() }),
        from(caller, garbage()),
      ),
    )
    expect(answers.length).toBeGreaterThanOrEqual(240)
    expect(new Set(answers)).toEqual(new Set([401]))
    const good = await fetch(oauth.api('inputs'), from(caller, oauth.token()))
    expect(good.status).toBe(200)
    const { status } = await fetch(oauth.api('inputs'), from(newCaller(), garbage()))
    expect(status).toBe(401)
  })

  it.each(['/designer/v2/projects', '/tools/organization/simple/'])(
    'count at %s too, and coming without one does not',
    async (path) => {
      const caller = newCaller()
      const url = oauth.service.url + path
      const without = await statuses(70, () => fetch(url, { headers: caller }))
      expect(new Set(without)).toEqual(new Set([401]))
      const bad = await untilLimited(() => fetch(url, from(caller, garbage())))
      expect(bad.length).toBeGreaterThanOrEqual(60)
      expect(new Set(bad)).toEqual(new Set([401]))
      const good = from(caller, await oauth.issueToken(oauth.acme))
      expect((await fetch(url, good)).status).toBe(200)
    },
  )
})

describe('tokens that the identity provider signed (SPEC 7)', () => {
  it.each([
    ['for another client', { cid: 'x' }],
    ['for no client', { cid: undefined }],
  ])('%s are answered 401 however often they come', async (_, changes) => {
    const call = from(newCaller(), oauth.token(changes))
    const all = await statuses(100, () => fetch(oauth.api('inputs'), call))
    expect(new Set(all)).toEqual(new Set([401]))
  })

  it('for an automation without a client are so as well', async () => {
    const call = from(newCaller(), oauth.token())
    const all = await statuses(100, () => fetch(oauth.api('inputs', oauth.acme.digest), call))
    expect(new Set(all)).toEqual(new Set([401]))
  })
})

describe('the table of those who failed', () => {
  const LIMITS = { burst: 5, perSecond: 1, subjectsMax: 10 }

  it('keeps a subject that is over its limit, however many others come', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 20 }), (others) => {
        const throttle = createFailureThrottle({ ...LIMITS, now: () => 0 })
        for (let count = 0; count < 5; count += 1) expect(throttle.fail('real one')).toBe(0)
        for (const other of others) throttle.fail(other)
        expect(throttle.fail('real one')).toBe(1)
      }),
    )
  })

  it('has those for whom there is no room share one limit, until others have recovered', () => {
    let now = 0
    const throttle = createFailureThrottle({ ...LIMITS, now: () => now })
    for (let subject = 0; subject < 10; subject += 1) throttle.fail(`subject ${subject}`)
    const late = Array.from({ length: 8 }, (_, index) => throttle.fail(`late ${index}`))
    expect(late).toEqual([0, 0, 0, 0, 0, 1, 1, 1])
    now = 60_000
    expect(throttle.fail('late 9')).toBe(0)
  })
})
