import type { Context } from 'hono'
import { createHash } from 'node:crypto'
import { EVENT_NUMBER_MAX, readEvents } from '../../../platform/runs/run-events.ts'
import { AppError } from '../../../shared/errors.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { streamEvents, toWire } from './event-stream.ts'
import { queueTexts } from '../../run-texts/queue-texts.ts'
import { getRun } from './get-run.ts'
import { readFlag } from './read-flag.ts'
import { readWhole } from './read-whole.ts'
import type { Follower } from './run-watch.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1000
const RETRY_HEADERS = { 'retry-after': '10' }

/**
 * Follows the events of a run: as server-sent events, which end with the run, or page by page for
 * callers that accept JSON only.
 */
export const eventsRoute: ApiRoute = {
  method: 'GET',
  path: '/events/:kickoffId',
  async answer(c, deps) {
    const { id } = await getRun(c, deps.sql)
    const after = readPosition(c)
    const limit = readLimit(c)
    const withTexts = readFlag(c.req.query('text_deltas'), 'text_deltas')
    if (wantsJson(c.req.header('accept') ?? '')) return answerPage(c, deps, { id, after, limit })
    const { last, isOver } = await readEvents(deps.sql, id, { after, limit: 1 })
    if (after > last) {
      throw new AppError(
        'invalid_request',
        `This run has no event ${after}: its newest one is ${last}. ` +
          'Send the id of an event of this run, or none.',
      )
    }
    // Clients of server-sent events connect again after each end, unless they are told not to.
    if (isOver && after === last) return c.body(null, 204)
    if (c.req.method === 'HEAD') return c.body(null, 200, STREAM_HEADERS)
    const follower = followOr429(c, deps, id)
    const { sql, log } = deps
    const texts = withTexts ? queueTexts(deps.texts, id) : undefined
    const stream = { sql, log, runId: id, after, follower, texts, gone: c.req.raw.signal }
    return c.body(streamEvents(stream), 200, STREAM_HEADERS)
  },
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  // Proxies of nginx's kind would keep the events back to fill their buffers.
  'x-accel-buffering': 'no',
}

/** The one whose calls count together: the bearer of a token. */
export const callerOf = (c: Context): string =>
  createHash('sha256')
    .update(c.req.header('authorization') ?? '')
    .digest('base64')

function followOr429(c: Context<AuthorizedCall>, { watch }: ApiRouteDeps, runId: string): Follower {
  const follower = watch.follow({ runId, caller: callerOf(c), change: 'event' })
  if (follower === 'too_many_of_caller') {
    throw new AppError(
      'rate_limited',
      'Too many streams are open with this token. Close some, or read the events page by page ' +
        'with `Accept: application/json`.',
      { headers: RETRY_HEADERS },
    )
  }
  if (follower === 'too_many') {
    throw new AppError('unavailable', 'Too many streams are open. Try again later.', {
      headers: RETRY_HEADERS,
    })
  }
  return follower
}

/** The header is what clients of server-sent events send when they connect again. */
function readPosition(c: Context<AuthorizedCall>): number {
  const header = c.req.header('last-event-id')
  return header === undefined || header === ''
    ? readWhole(c.req.query('after'), { name: 'after', max: EVENT_NUMBER_MAX, absent: 0 })
    : readWhole(header, { name: 'Last-Event-ID', max: EVENT_NUMBER_MAX, absent: 0 })
}

/** Only pages have a length; a wrong one is refused for streams, too, as any other parameter is. */
const readLimit = (c: Context<AuthorizedCall>): number =>
  readWhole(c.req.query('limit'), { name: 'limit', min: 1, max: LIMIT_MAX, absent: LIMIT_DEFAULT })

/** Returns true for a caller that names JSON and no stream; one that takes anything gets that. */
const wantsJson = (accept: string): boolean =>
  /\bapplication\/json\b/i.test(accept) && !/\btext\/event-stream\b/i.test(accept)

async function answerPage(
  c: Context<AuthorizedCall>,
  { sql }: ApiRouteDeps,
  { id, after, limit }: { id: string; after: number; limit: number },
): Promise<Response> {
  const { events, isOver } = await readEvents(sql, id, { after, limit })
  return c.json({
    events: events.map(toWire),
    after: events.at(-1)?.number ?? after,
    is_over: isOver,
  })
}
