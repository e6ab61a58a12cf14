import { readEvents } from '../../../platform/runs/run-events.ts'
import type { RunEvent } from '../../../platform/runs/run-events.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'

export const PAGE_EVENTS = 100

const encoder = new TextEncoder()

/** Some events of a run, as they were read and as a stream has them. */
export interface SentPage {
  readonly events: readonly RunEvent[]
  /** The run has ended, and the last of these events is its end. */
  readonly isOver: boolean
  /** The events as server-sent events. */
  readonly bytes: Uint8Array
}

/** An event as callers see it: its number is its id. */
export const toWire = ({ number, attempt, event }: RunEvent) => ({ id: number, attempt, ...event })

/** Reads the next `PAGE_EVENTS` events of a run after a number. */
export async function readPage(sql: Queryable, runId: string, after: number): Promise<SentPage> {
  const { events, isOver } = await readEvents(sql, runId, { after, limit: PAGE_EVENTS })
  const text = events.map(
    (event) => `id: ${event.number}\ndata: ${JSON.stringify(toWire(event))}\n\n`,
  )
  return { events, isOver, bytes: encoder.encode(text.join('')) }
}

interface Reading<Value> {
  readonly going: Promise<Value>
  /** One that begins when this one is over. */
  next: Promise<Value> | undefined
}

/**
 * Makes readers who want the same share what is read. Who comes while it is being read gets what is
 * read after that, for it may have come because of a change that the first reading does not see.
 */
export function shareReads<Key, Value>(
  read: (key: Key) => Promise<Value>,
): (key: Key) => Promise<Value> {
  const readings = new Map<Key, Reading<Value>>()
  const begin = (key: Key): Promise<Value> => {
    const going = read(key)
    const reading: Reading<Value> = { going, next: undefined }
    readings.set(key, reading)
    const forget = (): void => {
      if (reading.next === undefined) readings.delete(key)
    }
    going.then(forget, forget)
    return going
  }
  return (key) => {
    const known = readings.get(key)
    if (!known) return begin(key)
    const again = (): Promise<Value> => begin(key)
    known.next ??= known.going.then(again, again)
    return known.next
  }
}
