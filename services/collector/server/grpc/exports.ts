import { ingest } from '../ingest.ts'
import type { IngestDeps } from '../ingest.ts'
import { GRPC_CODES, grpcCodeOf } from '../../otlp/grpc-codes.ts'
import { noteRefusal, onlyTraces } from '../../otlp/refusals.ts'
import { grpcDelivery } from './delivery.ts'
import type { Call } from './delivery.ts'
import { replyWith, replyWithError, replyWithStatus } from './reply.ts'

const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const SIGNALS: Readonly<Record<string, string>> = {
  '/opentelemetry.proto.collector.logs.v1.LogsService/Export': 'logs',
  '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export': 'metrics',
}
/** In protobuf, which is also what is meant when the type names no format. */
const MEDIA_TYPE = /^application\/grpc(\+proto)?(;|$)/i

/** Answers calls: spans over gRPC, with the same acknowledgement as over HTTP. */
export function createExports(deps: IngestDeps): (call: Call) => void {
  return (call) => {
    const { stream, headers } = call
    if (headers[':method'] !== 'POST') return replyWithStatus(stream, 405)
    if (!MEDIA_TYPE.test(headers['content-type'] ?? '')) return replyWithStatus(stream, 415)
    const path = headers[':path'] ?? ''
    if (path === TRACES) return void takeExport(deps, call)
    if (SIGNALS[path]) deps.metrics.refused.inc({ reason: 'not_traces' })
    const message = SIGNALS[path] ? onlyTraces(SIGNALS[path]) : 'There is nothing here.'
    return replyWithError(stream, GRPC_CODES.unimplemented, message)
  }
}

async function takeExport(deps: IngestDeps, call: Call): Promise<void> {
  const { stream } = call
  try {
    const message = Buffer.from(await ingest(deps, grpcDelivery(call, deps.bodyIdleMs)))
    deps.metrics.calls.inc({ code: GRPC_CODES.ok })
    replyWith(stream, message)
  } catch (thrown) {
    refuse(deps, call, thrown)
  }
}

/** Refuses a call, as an exception of `ingest` demands. */
export function refuse(deps: IngestDeps, { stream }: Call, thrown: unknown): void {
  const { status, message } = noteRefusal(deps, thrown)
  // An unknown compression, in the words of gRPC.
  const code = status === 415 ? GRPC_CODES.unimplemented : grpcCodeOf(status)
  deps.metrics.calls.inc({ code })
  replyWithError(stream, code, message)
}
