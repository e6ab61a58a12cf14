import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, createHarness, lockSpans } from './support/harness.ts'
import type { Harness } from './support/harness.ts'

const script = new URL('./support/python-exporter.py', import.meta.url).pathname
const python = process.env['PYTHON'] ?? 'python3'
const hasPython =
  spawnSync(python, ['-c', 'import opentelemetry.exporter.otlp.proto.http']).status === 0
const hasPythonGrpc =
  spawnSync(python, ['-c', 'import opentelemetry.exporter.otlp.proto.grpc']).status === 0
if (!hasPython) {
  console.warn(`the SDK for Python was not tried: ${python} does not have it; set PYTHON`)
}

interface Target {
  readonly url: string
  readonly headers: { readonly authorization: string }
}

/** Sends a span and returns its trace id, once the exporter is done with it. */
type Send = (target: Target) => Promise<string>

const sendWith =
  (createExporter: (target: Target) => SpanExporter): Send =>
  async (target) => {
    const spanProcessors = [new BatchSpanProcessor(createExporter(target))]
    const provider = new BasicTracerProvider({ spanProcessors })
    const span = provider.getTracer('crew').startSpan('kickoff')
    span.end()
    await provider.shutdown()
    return span.spanContext().traceId
  }

const sendFromPython: Send = async ({ url, headers }) => {
  const { stdout } = await promisify(execFile)(python, [script, url, headers.authorization])
  return stdout.trim()
}

describe('an exporter that is told 503 and Retry-After (SPEC 4.6)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ GRPC_PORT: '0' }, { ackTimeoutMs: 300 })
  })
  afterAll(() => harness.stop())

  const answers = (code: string): Promise<number> =>
    harness.metric('collector_http_requests_total', { code })

  const exporters: [string, Send, number][] = [
    ['JavaScript, protobuf', sendWith((config) => new ProtobufExporter({ ...config })), 1],
    ['JavaScript, JSON', sendWith((config) => new JsonExporter({ ...config })), 1],
  ]
  if (hasPython) exporters.push(['Python', sendFromPython, 2])

  it.each(exporters)(
    'sends the same again, and it is stored once: %s',
    async (...[, send, spans]) => {
      const [refused, taken] = [await answers('503'), await answers('200')]
      const release = await lockSpans(harness.databaseUrl)
      const url = `${harness.collector.url}/v1/traces`
      const sent = send({ url, headers: { authorization: await bearer() } })
      await expect.poll(() => answers('503')).toBeGreaterThan(refused)
      await release()
      const traceId = await sent
      expect(await answers('200')).toBe(taken + 1)
      const rows = await harness.sql`select from spans where trace_id = ${traceId}::uuid`
      expect(rows.length).toBe(spans)
    },
  )

  const calls = (code: string): Promise<number> =>
    harness.metric('collector_grpc_requests_total', { code })

  // The exporter for JavaScript gives up after its first try over gRPC.
  it.skipIf(!hasPythonGrpc)(
    'sends the same again over gRPC after UNAVAILABLE, and it is stored once: Python',
    async () => {
      const [refused, taken] = [await calls('14'), await calls('0')]
      const release = await lockSpans(harness.databaseUrl)
      const url = harness.collector.grpcUrl ?? ''
      const sent = sendFromPython({ url, headers: { authorization: await bearer() } })
      await expect.poll(() => calls('14')).toBeGreaterThan(refused)
      await release()
      const traceId = await sent
      expect(await calls('0')).toBe(taken + 1)
      const rows = await harness.sql`select from spans where trace_id = ${traceId}::uuid`
      expect(rows.length).toBe(2)
    },
  )
})
