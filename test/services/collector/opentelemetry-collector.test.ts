import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { bearer, createHarness, JSON_TYPE, lockSpans } from './support/harness.ts'
import { requestOf, spanOf, toJson } from './support/otlp.ts'

const otelcol = process.env['OTELCOL'] ?? 'otelcol'
const hasCollector = spawnSync(otelcol, ['--version']).status === 0
if (!hasCollector) {
  console.warn('the OpenTelemetry Collector was not tried: it is not on the PATH; set OTELCOL')
}

const configuration = (port: number, url: string, authorization: string): string => `
receivers: { otlp: { protocols: { http: { endpoint: '127.0.0.1:${port}' } } } }
exporters:
  otlphttp:
    traces_endpoint: ${url}/v1/traces
    headers: { authorization: '${authorization}' }
service:
  telemetry: { metrics: { level: none }, logs: { level: error } }
  pipelines: { traces: { receivers: [otlp], exporters: [otlphttp] } }
`

it.skipIf(!hasCollector)(
  'takes from the OpenTelemetry Collector, which retries after a 503, and stores once (SPEC 4.6)',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'otelcol-'))
    const harness = await createHarness({}, { ackTimeoutMs: 300 })
    const port = await freePort()
    const file = join(directory, 'config.yaml')
    writeFileSync(file, configuration(port, harness.collector.url, await bearer()))
    const child = spawn(otelcol, ['--config', file], { stdio: 'inherit' })
    const ended = once(child, 'exit')
    try {
      const release = await lockSpans(harness.databaseUrl)
      const span = spanOf()
      const init = {
        method: 'POST',
        body: toJson(requestOf(span)).toString(),
        headers: { 'content-type': JSON_TYPE },
      }
      const send = () => fetch(`http://127.0.0.1:${port}/v1/traces`, init).catch(() => undefined)
      await expect.poll(async () => (await send())?.status).toBe(200)
      const answers = (code: string) => () =>
        harness.metric('collector_http_requests_total', { code })
      await expect.poll(answers('503')).toBeGreaterThan(0)
      await release()
      await expect.poll(answers('200'), { timeout: 30_000 }).toBe(1)
      const rows = await harness.sql`
        select from spans where trace_id = ${span.traceId ?? ''}::uuid`
      expect(rows.length).toBe(1)
    } finally {
      child.kill()
      await ended
      await harness.stop()
      rmSync(directory, { recursive: true })
    }
  },
  180_000,
)
