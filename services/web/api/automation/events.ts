import type { Context } from 'hono'
import { createHash } from 'node:crypto'
import { EVENT_NUMBER_MAX, readEvents } from '../../../platform/runs/run-events.ts'
import { AppError } from '../../../shared/errors.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import * as s from '../openapi/parts.ts'
import { noKickoff, reading } from './api-route.ts'
import { toWire } from './event-page.ts'
import { STREAM_HEADERS, streamEvents } from './event-stream.ts'
import { queueTexts } from '../../run-texts/queue-texts.ts'
import { getRun } from './get-run.ts'
import { readFlag } from './read-flag.ts'
import { readWhole } from './read-whole.ts'
import type { Follower } from './run-watch.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1000
const RETRY_HEADERS = { 'retry-after': '10' }

const runEvent = s.named('RunEvent', {
  type: 'object',
  required: ['id', 'attempt', 'type'],
  description: 'Types may be added; leave out those that you do not know.',
  properties: {
    id: s.say(s.integer, 'Its number within the run, from 1.'),
    attempt: s.integer,
    type: { ...s.text, examples: ['task_started', 'llm_call', 'task_completed', 'run_completed'] },
    at: s.moment,
  },
})
const eventPage = s.document('EventPage', {
  events: s.list(runEvent),
  after: s.say(s.integer, 'What to send as `after` for the next page.'),
  is_over: s.say(s.truth, 'The run has ended, and this page has its end.'),
})
const position = { ...s.integer, minimum: 0, maximum: EVENT_NUMBER_MAX, default: 0 }
const follow = reading('events', 'Follow the events of a run', {
  description:
    'As server-sent events without names, each with its number within the run as `id` and a ' +
    '`RunEvent` as `data`. The last one is `run_completed`, `run_failed` or `run_stopped`. A ' +
    'stream also ends after 15 minutes and when the platform is updated: connect again with ' +
    '`Last-Event-ID`, and no event is missed or repeated. Callers that accept only ' +
    '`application/json` get a page instead.',
  parameters: [
    s.parameter('Last-Event-ID', 'header', {
      description: 'Only the events that follow this one; comes before `after`.',
      schema: position,
    }),
    s.parameter('after', 'query', { description: 'As `Last-Event-ID`.', schema: position }),
    s.parameter('limit', 'query', {
      description: 'The length of a page.',
      schema: { ...s.integer, minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
    }),
    s.flag(
      'text_deltas',
      'Also tell what models are writing, in a stream: messages of the type `text_delta` without ' +
        'an id, which are not kept.',
    ),
  ],
  200: {
    description: 'The events, in order.',
    content: { 'text/event-stream': { schema: s.text }, 'application/json': { schema: eventPage } },
  },
  204: 'The run has ended, and `Last-Event-ID` was its last event.',
  ...noKickoff,
  400: 'The run has no event of that number, or a parameter is not what it may be.',
  503: 'Too many streams are open, or the database is unavailable.',
})

/**
 * Follows the events of a run: as server-sent events, which end with the run, or page by page for
 * callers that accept JSON only.
 */
export const eventsRoute: ApiRoute = {
  method: 'GET',
  path: '/events/:kickoffId',
  operation: follow,
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
    const { log } = deps
    const texts = withTexts ? queueTexts(deps.texts, id) : undefined
    const stream = { log, runId: id, after, follower, texts, gone: c.req.raw.signal }
    return c.body(streamEvents(stream), 200, STREAM_HEADERS)
  },
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
