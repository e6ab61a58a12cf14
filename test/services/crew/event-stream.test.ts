import { describe, expect, it } from 'vitest'
import type { Commits } from '../../../services/crew/commits.ts'
import { streamEvents } from '../../../services/crew/event-stream.ts'
import type { Channel } from '../../../services/crew/steps.ts'

const at = '2026-01-01T00:00:00.000Z'

/** Reports two events, to a worker that acknowledges what the test says. */
async function report() {
  const ends: string[] = []
  const { commits, stream } = await new Promise<{
    commits: Commits
    stream: ReadableStream<Uint8Array>
  }>((resolve) => {
    const opened = streamEvents({
      async run(channel: Channel) {
        channel.write({ type: 'crew_started', at, crew: 'Crew' })
        channel.write({ type: 'handed_over', at })
      },
      heartbeatMs: 60_000,
      follow: (followed, signal) => {
        queueMicrotask(() => resolve({ commits: followed, stream: opened }))
        return new Promise((_, reject) => signal.addEventListener('abort', reject))
      },
      onEnd: ({ outcome }) => ends.push(outcome),
    })
  })
  const reader = stream.getReader()
  const lines = new TextDecoder()
    .decode((await reader.read()).value)
    .trim()
    .split('\n')
  let isClosed = false
  const closed = reader.read().then(({ done }) => (isClosed = done))
  return { commits, reader, lines, closed, isClosed: () => isClosed, ends }
}

describe('the events of a run', () => {
  it('go out as one piece when they are of one moment', async () => {
    const { lines, reader } = await report()
    expect(lines).toHaveLength(2)
    await reader.cancel()
  })

  it('keep the connection open until the worker has committed the last one', async () => {
    const { commits, closed, isClosed, ends } = await report()
    expect(ends).toEqual(['handed_over'])
    commits.advance(1)
    await new Promise(setImmediate)
    expect(isClosed()).toBe(false)
    commits.advance(2)
    expect(await closed).toBe(true)
  })

  it('wait for no ack of a worker that is gone', async () => {
    const { reader, closed, ends } = await report()
    await reader.cancel()
    expect(await closed).toBe(true)
    expect(ends).toEqual(['handed_over'])
  })
})
