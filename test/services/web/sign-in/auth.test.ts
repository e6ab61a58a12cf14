import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { clientAddress } from '../../../../services/web/gate/callers/client-address.ts'
import { limitConcurrency } from '../../../../services/web/http/limit-concurrency.ts'

async function addressOf(forwarded: string | undefined, proxies: number, remoteAddress?: string) {
  const app = new Hono<{ Bindings: Partial<HttpBindings> }>()
  app.get('/', (c) => c.text(clientAddress(c, proxies)))
  const headers: Record<string, string> = forwarded ? { 'x-forwarded-for': forwarded } : {}
  const bindings = remoteAddress ? { incoming: { socket: { remoteAddress } } } : {}
  return (await app.request('/', { headers }, bindings)).text()
}

describe('the address of a client', () => {
  it('is that of the socket, whatever the client claims', async () => {
    expect(await addressOf('1.2.3.4', 0, '192.0.2.1')).toBe('192.0.2.1')
  })

  it('is what the outermost of our proxies saw', async () => {
    expect(await addressOf('6.6.6.6, 1.2.3.4, 10.0.0.2', 2, '10.0.0.1')).toBe('1.2.3.4')
  })

  it('is that of the socket when the proxies wrote nothing', async () => {
    expect(await addressOf(undefined, 1, '10.0.0.1')).toBe('10.0.0.1')
    expect(await addressOf('1.2.3.4', 3, '10.0.0.1')).toBe('10.0.0.1')
  })

  it('has one form: IPv4 in IPv6 is IPv4, and of IPv6 the network counts', async () => {
    expect(await addressOf(undefined, 0, '::ffff:192.0.2.1')).toBe('192.0.2.1')
    expect(await addressOf(undefined, 0, '2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
    expect(await addressOf(undefined, 0, '2001:DB8:1:2::9')).toBe('2001:db8:1:2::/64')
    expect(await addressOf(undefined, 0, '::1')).toBe('0:0:0:0::/64')
  })
})

describe('the gate before expensive work', () => {
  it('admits few at a time, the others in order, and refuses what exceeds the queue', async () => {
    let inside = 0
    let most = 0
    const order: number[] = []
    const work = limitConcurrency(
      async (id: number) => {
        inside += 1
        most = Math.max(most, inside)
        await sleep(5)
        order.push(id)
        inside -= 1
        if (id === 1) throw new Error('fails')
      },
      { concurrent: 2, waitingMax: 3, busy: 'Too many.' },
    )
    const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((id) => work(id)))
    expect(most).toBe(2)
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(results.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
    expect(results[5]).toMatchObject({ reason: { code: 'unavailable' } })
    await work(7)
  })
})
