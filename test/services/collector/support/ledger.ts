import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { postTo } from './harness.ts'
import { requestOf, spanOf, toProtobuf } from './otlp.ts'
import type { OtlpSpan } from './otlp.ts'

/** Clients that send as exporters do, and a list of all they were told is stored. */
export interface Ledger {
  /** Trace ids of spans that were acknowledged; each span has a trace of its own. */
  readonly acknowledged: string[]
  /** Lets every client finish its request. */
  stop(): Promise<void>
}

/** Sends a body; false when it has to be sent again. */
type Send = (body: Buffer) => Promise<boolean>

interface LedgerOptions {
  readonly send: Send
  readonly clients: number
  /** In each request. @default 20 */
  readonly spans?: number
  /** Makes a span with ids of its own. */
  readonly makeSpan?: () => OtlpSpan
}

const RETRY_MS = 20

/** Sends over HTTP. */
export const overHttp =
  (url: string): Send =>
  async (body) =>
    (await postTo(url, body).catch(() => undefined))?.status === 200

/**
 * Starts the clients; each sends one request at a time, and the same bytes until they are taken.
 */
export function openLedger(options: LedgerOptions): Ledger {
  const { send, clients, spans = 20, makeSpan = () => spanOf() } = options
  const acknowledged: string[] = []
  let isLoading = true
  const client = async (): Promise<void> => {
    while (isLoading) {
      const batch = Array.from({ length: spans }, makeSpan)
      const body = toProtobuf(requestOf(...batch))
      for (let isTaken = false; !isTaken;) {
        isTaken = await send(body)
        if (!isTaken) await delay(RETRY_MS)
      }
      acknowledged.push(...batch.map(({ traceId = '' }) => traceId))
    }
  }
  const running = Array.from({ length: clients }, client)
  return {
    acknowledged,
    async stop() {
      isLoading = false
      await Promise.all(running)
    },
  }
}

export interface Audit {
  readonly rows: number
  readonly spans: number
  /** Acknowledged, and not there. */
  readonly missing: number
}

/**
 * What the database has of a ledger. With nothing lost and nothing twice, `rows` = `spans` = all
 * acknowledged.
 */
export async function audit(sql: Database, acknowledged: readonly string[]): Promise<Audit> {
  const [counts] = await sql<Omit<Audit, 'missing'>[]>`
    select count(*)::int as rows, count(distinct (trace_id, span_id))::int as spans from spans`
  const [found] = await sql<{ traces: number }[]>`
    select count(distinct trace_id)::int as traces from spans
    where trace_id = any (${[...acknowledged]}::text[]::uuid[])`
  if (!counts || !found) throw new Error('the database answered nothing')
  // Each span has a trace of its own.
  return { ...counts, missing: new Set(acknowledged).size - found.traces }
}
