import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { keepConnections, postLines } from '../../../../services/shared/http/post-lines.ts'
import type { LineAnswer } from '../../../../services/shared/http/post-lines.ts'
import { listen } from '../../../../services/shared/http/serve.ts'

const NEVER = new AbortController().signal
const closes: (() => void)[] = []

afterEach(() => {
  for (const close of closes.splice(0)) close()
})

/** Reads a line, answers it, and hears out what follows: as a crew does. */
const echo: RequestListener = (request, response) => {
  request.once('data', (line: Buffer) => response.write(line))
  request.on('end', () => response.end())
  request.resume()
}

async function openServer(answer: RequestListener) {
  const server = createServer(answer)
  const counted = { connections: 0 }
  server.on('connection', () => (counted.connections += 1))
  await listen(server, 0, '127.0.0.1')
  const pool = keepConnections()
  closes.push(() => {
    pool.close()
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const post = (signal = NEVER) => {
    const url = new URL(`http://127.0.0.1:${port}/`)
    return postLines({ url, token: 't', document: '{}', keepAliveMs: 60_000, signal, pool })
  }
  return { counted, post }
}

/** Reads the first line, leaves as said, and waits until the answer is over. */
async function readLine(answer: LineAnswer, how: 'end' | 'close' = 'close'): Promise<string> {
  const reader = answer.body.getReader()
  const { value } = await reader.read()
  answer[how]()
  while (!(await reader.read()).done);
  await setImmediate()
  return Buffer.from(value ?? []).toString()
}

describe('posts of lines', () => {
  it('share a connection one after the other, once both sides are through', async () => {
    const { counted, post } = await openServer(echo)
    for (let posts = 0; posts < 5; posts += 1) {
      const answer = await post()
      answer.tell({ ack: posts })
      expect(await readLine(answer, 'end')).toBe('{}\n')
      answer.close()
    }
    expect(counted.connections).toBe(1)
  })

  it('have a connection each where they are under way at once', async () => {
    const { counted, post } = await openServer(echo)
    const answers = await Promise.all([post(), post(), post()])
    expect(counted.connections).toBe(3)
    for (const answer of answers) answer.close()
  })

  it('end a connection that is left, or that the server ends', async () => {
    const ends: RequestListener = (request, response) => {
      response.setHeader('connection', 'close')
      echo(request, response)
    }
    for (const [answer, how] of [
      [ends, 'end'],
      [echo, 'close'],
    ] as const) {
      const { counted, post } = await openServer(answer)
      for (let posts = 1; posts <= 2; posts += 1) {
        expect(await readLine(await post(), how)).toBe('{}\n')
        expect(counted.connections).toBe(posts)
      }
    }
  })

  it('take a new connection where the server has closed the kept one meanwhile', async () => {
    let posts = 0
    const { counted, post } = await openServer((request, response) => {
      posts += 1
      if (posts === 2) request.socket.destroy()
      else echo(request, response)
    })
    await readLine(await post(), 'end')
    expect(await readLine(await post())).toBe('{}\n')
    expect([posts, counted.connections]).toEqual([3, 2])
  })

  it('are not repeated on a connection of their own, nor once nobody waits for them', async () => {
    const { counted, post } = await openServer(({ socket }) => socket.destroy())
    await expect(post()).rejects.toThrow(/hang up|ECONNRESET/)
    await expect(post(AbortSignal.abort())).rejects.toThrow(/abort/)
    expect(counted.connections).toBe(1)
  })
})
