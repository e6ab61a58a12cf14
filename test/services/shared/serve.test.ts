import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import { serve } from '../../../services/shared/serve.ts'

const log = createLog({ name: 'test', level: 'silent' })
const host = '127.0.0.1'

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
    const options = { host, port: 0, log, lingerMs: 200, fetch: () => new Response('ok') }
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

  it('says which port is in use and what to do', async () => {
    const first = await serve({ host, port: 0, log, fetch: () => new Response() })
    const port = Number(new URL(first.url).port)
    await expect(serve({ host, port, log, fetch: () => new Response() })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: `Port ${port} on 127.0.0.1 is in use by another program. Stop that program or choose another port.`,
    })
    await first.stop()
  })
})
