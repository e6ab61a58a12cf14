import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { IngestDeps } from '../ingest.ts'

const WARN_EVERY_MS = 60_000
const ADVICE =
  'a client speaks HTTP/1.1 on the port for gRPC; OTLP over HTTP is taken on the other port'

/** Tells the operator, once a minute, of exporters that are set up for OTLP over HTTP. */
export function warnOfHttp1(
  server: Http2Server | Http2SecureServer,
  { metrics, log }: Pick<IngestDeps, 'metrics' | 'log'>,
): void {
  let quietUntil = 0
  server.on('sessionError', (error) => {
    if (!error.message.includes('client magic')) return
    metrics.refused.inc({ reason: 'not_grpc' })
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + WARN_EVERY_MS
    log.warn(ADVICE)
  })
}
