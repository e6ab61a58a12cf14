import { once } from 'node:events'
import { Agent, get } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../../services/shared/log.ts'
import { serve } from '../../../../services/shared/http/serve.ts'
import { exchange, statusOf } from '../../../support/raw-http.ts'

const log = createLog({ name: 'test', level: 'silent' })
const host = '127.0.0.1'

/** Sends a body in parts of so many bytes, until the server ends the connection. */
async function drip(url: string, head: readonly string[], bytes: number): Promise<string> {
  const socket = connect(Number(new URL(url).port), host)
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const timer = setInterval(() => void socket.write('x'.repeat(bytes)), 50)
  const answer = await text(socket)
  clearInterval(timer)
  return answer
}

describe('serve', () => {
  it('lets an open request end before it stops', async () => {
    let release = (): void => {}
    let arrived = (): void => {}
    const held = new Promise<void>((done) => (release = done))
    const seen = new Promise<void>((done) => (arrived = done))
    const service = await serve({
      host,
      port: 0,
      log,
      async fetch() {
        arrived()
        await held
        return new Response('done')
      },
    })
    const answer = fetch(service.url)
    await seen
    const stopped = service.stop()
    release()
    expect(await (await answer).text()).toBe('done')
    await stopped
    await expect(fetch(service.url)).rejects.toThrow()
  })

  it('asks kept connections to end while it lingers: no request meets a closing one', async () => {
    const fetchOk = () => new Response('ok')
    const service = await serve({ host, port: 0, log, lingerMs: 2000, fetch: fetchOk })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const connectionOf = async (): Promise<string | undefined> => {
      const [response] = (await once(get(service.url, { agent }), 'response')) as [IncomingMessage]
      await once(response.resume(), 'end')
      return response.headers.connection
    }
    expect(await connectionOf()).toBe('keep-alive')
    const stopped = service.stop()
    expect(await connectionOf()).toBe('close')
    await stopped
    agent.destroy()
  })

  it('cuts a request that outlasts the drain time', async () => {
    const service = await serve({
      host,
      port: 0,
      log,
      drainMs: 10,
      fetch: () => new Promise(() => {}),
    })
    const answer = fetch(service.url)
    answer.catch(() => {})
    const socket = connect(Number(new URL(service.url).port), host)
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'connect')
    await service.stop()
    await expect(answer).rejects.toThrow()
  })

  it('runs onDrain first, so that health can answer 503 while connections still open', async () => {
    let draining = false
    const service = await serve({
      host,
      port: 0,
      log,
      onDrain: () => (draining = true),
      fetch: () => new Response(),
    })
    await service.stop()
    expect(draining).toBe(true)
  })

  it('still answers while it lingers, so that a Service may forget it first', async () => {
    const options = { host, port: 0, log, lingerMs: 2000, fetch: () => new Response('ok') }
    const service = await serve(options)
    const stopped = service.stop()
    expect(await (await fetch(service.url)).text()).toBe('ok')
    await stopped
    await expect(fetch(service.url)).rejects.toThrow()
  })

  it('does not wait for a connection that never sent anything', async () => {
    const service = await serve({ host, port: 0, log, fetch: () => new Response('ok') })
    const socket = connect(Number(new URL(service.url).port), host)
    await once(socket, 'connect')
    await Promise.all([once(socket, 'close'), service.stop()])
    expect(socket.destroyed).toBe(true)
  })

  it('gives the head of a request less time than the whole: Node would swap them', async () => {
    let found: Server | undefined
    const configure = (server: Server): void => void (found = server)
    const fetch = () => new Response()
    const service = await serve({ host, port: 0, log, fetch, configure })
    const { headersTimeout = 0, requestTimeout = 0, keepAliveTimeout = 0 } = found ?? {}
    expect(headersTimeout).toBeLessThan(requestTimeout)
    expect(requestTimeout).toBeLessThanOrEqual(30_000)
    expect(keepAliveTimeout).toBeGreaterThan(5000)
    await service.stop()
  })

  it('answers 408 to a body that stands still, and lets its reader know', async () => {
    const read: Promise<unknown>[] = []
    const service = await serve({
      host,
      port: 0,
      log,
      bodyIdleMs: 100,
      async fetch(request) {
        const text = request.text()
        read.push(text.catch(() => 'closed'))
        return new Response(await text)
      },
    })
    const answer = await exchange(
      service.url,
      ['POST / HTTP/1.1', 'Host: x', 'Content-Length: 10'],
      'four',
    )
    expect(statusOf(answer)).toBe('408')
    expect(await Promise.all(read)).toEqual(['closed'])
    await service.stop()
  })

  it('takes a body that arrives slowly, and one that the service is slow to read', async () => {
    const service = await serve({
      host,
      port: 0,
      log,
      bodyIdleMs: 1500,
      async fetch(request) {
        await delay(2000)
        return new Response(String((await request.arrayBuffer()).byteLength))
      },
    })
    const slowly = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (let part = 0; part < 8; part += 1) {
          controller.enqueue(new Uint8Array(1))
          await delay(250)
        }
        controller.close()
      },
    })
    const large = new Uint8Array(4 << 20)
    const post = async (body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>) =>
      (await fetch(service.url, { method: 'POST', body, duplex: 'half' })).text()
    expect(await Promise.all([post(slowly), post(large)])).toEqual(['8', String(4 << 20)])
    await service.stop()
  })

  it('asks for a body that waits to be asked for, and holds it to the same limits', async () => {
    const service = await serve({
      host,
      port: 0,
      log,
      bodyIdleMs: 100,
      fetch: async (request) => new Response(await request.text()),
    })
    const head = ['POST / HTTP/1.1', 'Host: x', 'Content-Length: 4', 'Connection: close']
    const expecting = [...head, 'Expect: 100-continue']
    const answer = await exchange(service.url, expecting, 'four')
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 .*four$/s)
    const stalled = await exchange(service.url, expecting, 'two')
    expect(stalled).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 408 /)
    const other = await exchange(service.url, [...head, 'Expect: 200-ok'], 'four')
    expect(statusOf(other)).toBe('417')
    await service.stop()
  })

  it('answers 408 to a body that drips', async () => {
    const service = await serve({
      host,
      port: 0,
      log,
      bodyIdleMs: 1500,
      bodyBytesMin: 1000,
      fetch: async (request) => new Response(String((await request.arrayBuffer()).byteLength)),
    })
    const head = ['POST / HTTP/1.1', 'Host: x', 'Connection: close', 'Content-Length: 100000']
    expect(statusOf(await drip(service.url, head, 1))).toBe('408')
    expect(await drip(service.url, head, 5000)).toMatch(/ 200 .*100000$/s)
    await service.stop()
  })

  it('says which port is in use and what to do', async () => {
    const first = await serve({ host, port: 0, log, fetch: () => new Response() })
    const port = Number(new URL(first.url).port)
    await expect(serve({ host, port, log, fetch: () => new Response() })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message:
        `Port ${port} on 127.0.0.1 is in use by another program. ` +
        'Stop that program or choose another port.',
    })
    await first.stop()
  })
})
