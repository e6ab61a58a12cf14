import type { NeededSpans } from '../../platform/traces/forward-queue.ts'
import { callCollector } from '../../shared/collector-call.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'

/** Spans of an organization, in the order of their commits. */
export interface SpanPage {
  /** An ExportTraceServiceRequest in protobuf; empty without spans. */
  readonly body: Buffer
  readonly spans: number
  /** The place behind them. */
  readonly cursor: string
  readonly hasMore: boolean
  /** The commit of the oldest one. */
  readonly notedAt: Date | null
}

interface SpanQuery {
  readonly organizationId: number
  /** Null: from now on. */
  readonly after: string | null
  readonly share: number
  /** None: all. */
  readonly services: readonly string[]
  readonly spans: number
}

/** The committed spans that are forwarded. Both raise `unavailable`, `timeout`, `bad_gateway`. */
export interface CommittedSpans {
  tell(needed: readonly NeededSpans[]): Promise<void>
  read(query: SpanQuery, signal: AbortSignal): Promise<SpanPage>
}

const CALL_MS = 10_000
const OLD = 'The trace collector is older than the worker, and forwards nothing. Upgrade it.'

/** Returns what reads committed spans of the trace collector. */
export function openCommittedSpans(collector: CollectorPlace): CommittedSpans {
  const limit = { name: 'The trace collector', timeoutMs: CALL_MS }
  return {
    tell: (needed) =>
      deadline(limit, async (signal) => {
        const claims = { scopes: ['forwards:write'] } as const
        const body = JSON.stringify({ needed })
        const asked = { path: '/forwarding', method: 'PUT', claims, body, missing: OLD } as const
        await callCollector(collector, asked, signal)
      }),
    read: ({ organizationId, after, share, services, spans }, signal) =>
      deadline({ ...limit, signal }, async (stop) => {
        const query = new URLSearchParams({ share: String(share), spans: String(spans) })
        if (after !== null) query.set('after', after)
        if (services.length > 0) query.set('services', services.join(','))
        const claims = { scopes: ['traces:read'], organization: String(organizationId) } as const
        const asked = { path: `/forwarding?${query.toString()}`, claims, missing: OLD }
        const { headers, ...response } = await answerOf(collector, asked, stop)
        const cursor = headers.get('forward-cursor')
        if (cursor === null) throw new AppError('bad_gateway', 'The answer has no cursor.')
        const notedAt = headers.get('forward-noted-at')
        return {
          ...response,
          spans: Number(headers.get('forward-spans')),
          cursor,
          hasMore: headers.get('forward-more') === 'true',
          notedAt: notedAt === null ? null : new Date(notedAt),
        }
      }),
  }
}

async function answerOf(...call: Parameters<typeof callCollector>) {
  const response = await callCollector(...call)
  return { headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
}
