import { describe, expect, it } from 'vitest'
import { createOutgoingGuard } from '../../../../services/shared/outgoing/guard.ts'
import type { ResolveName } from '../../../../services/shared/outgoing/resolve-name.ts'

const address = (text: string) => ({ address: text, family: text.includes(':') ? 6 : 4 })
const signal = AbortSignal.timeout(50_000)

function guard(resolveName: ResolveName, ...privateOrigins: string[]) {
  const setting = 'LLM_PRIVATE_ORIGINS (chart: outgoing.llmPrivateOrigins)'
  return createOutgoingGuard({ privateOrigins, setting, resolveName })
}
const answering =
  (...found: string[]): ResolveName =>
  async () =>
    found.map(address)

async function pin(made: ReturnType<typeof guard>, url: string, subject = 'organization 1') {
  const route = await made.pin(new URL(url), { subject, signal })
  if ('proxy' in route) throw new Error('goes through a proxy')
  return route
}

function connectWith(pinned: Awaited<ReturnType<typeof pin>>, all: boolean) {
  return new Promise((done) => {
    pinned.lookup('another.name', { all }, (...answer) => done(answer))
  })
}

describe('a call to an address that an organization chose', () => {
  it('goes to the very addresses that were looked at, whatever the name says later', async () => {
    const pinned = await pin(guard(answering('1.1.1.1', '2606:4700::1111')), 'https://x.test/v1')
    expect(pinned.agent).toBe(false)
    expect(await connectWith(pinned, true)).toEqual([
      null,
      [address('1.1.1.1'), address('2606:4700::1111')],
    ])
    expect(await connectWith(pinned, false)).toEqual([null, '1.1.1.1', 4])
  })

  it.each([
    ['10.0.0.1'],
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['100.64.0.1'],
    ['::1'],
    ['::ffff:10.0.0.1'],
    ['1.1.1.1', '10.0.0.1'],
  ])('is refused when its name leads to %s', async (...found) => {
    await expect(pin(guard(answering(...found)), 'https://x.test/v1')).rejects.toMatchObject({
      code: 'bad_gateway',
      details: { problem: 'private_address' },
      message: expect.stringContaining(
        'listing https://x.test in LLM_PRIVATE_ORIGINS (chart: outgoing.llmPrivateOrigins)',
      ),
    })
  })

  it('tells no private name from one that nobody has', async () => {
    const told = (resolveName: ResolveName) =>
      pin(guard(resolveName), 'https://db.internal').catch((error: Error) => error.message)
    expect(await told(answering('10.0.0.1'))).toBe(await told(answering()))
  })

  it('goes to a private address of a listed origin, with that scheme and port only', async () => {
    const made = guard(answering('10.0.0.1'), 'http://model.svc:8080')
    await pin(made, 'http://model.svc:8080/v1')
    for (const other of ['http://model.svc/v1', 'https://model.svc:8080', 'http://x.svc:8080']) {
      await expect(pin(made, other)).rejects.toMatchObject({ code: 'bad_gateway' })
    }
  })

  it('is refused as it is typed when it is a private number or localhost', () => {
    const made = guard(answering(), 'http://localhost:11434')
    expect(made.problemOf(new URL('http://localhost:11434/v1'))).toBeUndefined()
    expect(made.problemOf(new URL('https://api.test/v1'))).toBeUndefined()
    for (const inside of [
      'http://localhost/v1',
      'http://2130706433',
      'http://[::1]:80',
      'http://0x7f.1',
    ]) {
      expect(made.problemOf(new URL(inside))).toContain('has no public address')
    }
  })

  it('waits for look-ups of its own organization only', async () => {
    const hanging = new Set<string>()
    const never: ResolveName = (name) => {
      if (name === 'good.test') return answering('1.1.1.1')(name, signal)
      hanging.add(name)
      return new Promise(() => {})
    }
    const made = guard(never)
    const dead = Array.from({ length: 72 }, (_, index) => pin(made, `https://dead-${index}.test`))
    await expect(pin(made, 'https://good.test')).rejects.toMatchObject({ code: 'unavailable' })
    await pin(made, 'https://good.test', 'organization 2')
    expect(hanging.size).toBe(8)
    expect(dead).toHaveLength(72)
  })
})
