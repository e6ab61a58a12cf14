import type { Context, Hono } from 'hono'
import * as v from 'valibot'
import type { ReadEnv } from './admit-read.ts'
import { toByteStream } from '../../shared/http/byte-stream.ts'
import { wrongCursor, isInt8 } from './span-cursor.ts'
import type { LongAnswerDeps } from './export-route.ts'
import { name, readParameters } from './read-query.ts'
import { createPlaces, startingWith } from './starting-with.ts'
import { tailEvents } from './tail.ts'
import type { TailQuery } from './tail.ts'

const tailParameters = v.object({ crew: v.optional(name), kickoff: v.optional(name) })

/** Tails at a time: each asks the database once a second. */
const TAILS = 20
/** Whoever reads nothing for longer loses its connection. */
const READ_MS = 60_000
/** A tail ends after this; its client connects again with the id of its last event. */
const LONGEST_MS = 1_800_000

/** Adds `/tail`, which tells of traces as they change. */
export function addTail(app: Hono<ReadEnv>, deps: LongAnswerDeps): void {
  const inPlace = createPlaces(TAILS, `There are ${TAILS} tails already; try again.`)
  app.get('/tail', async (c) => {
    c.set('view', 'tail')
    const after = readLastEvent(c.req.header('last-event-id'))
    const filters = readParameters(tailParameters, new URL(c.req.url).searchParams)
    return inPlace((onEnd) => send(c, { ...filters, after }, { ...deps, onEnd }))
  })
}

/** An empty one is what a browser sends that has seen no event. */
function readLastEvent(id: string | undefined): bigint | undefined {
  if (id === undefined || id === '') return undefined
  const number = /^\d{1,19}$/.test(id) ? BigInt(id) : -1n
  if (number < 0n || !isInt8(number)) throw wrongCursor()
  return number
}

async function send(
  c: Context<ReadEnv>,
  query: TailQuery,
  { isDraining, logFailure, onEnd }: LongAnswerDeps & { onEnd: () => void },
): Promise<Response> {
  const { grant, lastingReader: reader } = c.var
  const ends = performance.now() + LONGEST_MS
  const reasonToEnd = (): string | undefined => {
    if (grant.isRevoked() || grant.isExpired()) return 'token'
    if (isDraining()) return 'draining'
    return performance.now() >= ends ? 'time' : undefined
  }
  const events = tailEvents(reader, query, { reasonToEnd })
  const first = await events.next()
  // It does not count among the answers under way: it lasts, and costs little.
  c.set('isStreaming', true)
  c.var.finish(200)
  const bytes = toByteStream(startingWith(first.value, events), {
    timeoutMs: READ_MS,
    isForEachPiece: true,
    onEnd(failure) {
      onEnd()
      if (failure) logFailure(failure)
    },
  })
  return c.body(bytes, 200, {
    'cache-control': 'no-store',
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
  })
}
