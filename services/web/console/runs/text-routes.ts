import type { Hono } from 'hono'
import { createRoom } from '../frame/room.ts'
import { AppError } from '../../../shared/errors.ts'
import { toByteStream } from '../../../shared/http/byte-stream.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { queueTexts, toTextMessage } from '../../run-texts/queue-texts.ts'
import type { TextQueue } from '../../run-texts/queue-texts.ts'
import { getOwnRun } from '../frame/own-automation.ts'

/** Pages of runs that are open at a time, of all people. */
const READERS_MAX = 200
/** A reader that takes longer for a piece loses its connection. */
const READ_MS = 60_000
/** The stream ends after this, and its page connects again: by then its session may be over. */
const STREAM_MS = 120_000
const HEARTBEAT_MS = 15_000

/** Serves what the models of a run write, for the page of the run. */
export function runTextRoutes(deps: WebDeps): Hono<SignedIn> {
  const { texts, stopping } = deps
  const room = createRoom(deps)
  let readers = 0

  room.page('viewer', '/automations/:automationId/executions/:kickoffId/texts', async (c) => {
    const { run } = await getOwnRun(c, deps.sql)
    // Tells a page not to connect again.
    if (run.finishedAt) return c.body(null, 204)
    if (readers === READERS_MAX) {
      throw new AppError('unavailable', `${READERS_MAX} pages follow runs; try again later.`)
    }
    readers += 1
    const queue = queueTexts(texts, run.id)
    const ends = [AbortSignal.timeout(STREAM_MS), ...(stopping ? [stopping] : [])]
    const body = toByteStream(messages(queue, AbortSignal.any(ends)), {
      timeoutMs: READ_MS,
      isForEachPiece: true,
      onEnd() {
        readers -= 1
        queue.leave()
      },
    })
    return c.body(body, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  })

  return room.routes
}

async function* messages(
  queue: TextQueue,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  yield ': what the models write\n\n'
  while (!signal.aborted) {
    await queue.arrival(HEARTBEAT_MS, signal)
    const parts = queue.take()
    yield parts.length > 0 ? parts.map(toTextMessage).join('') : ': still here\n\n'
  }
}
