import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../services/shared/log.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import { start } from '../../../../services/web/start.ts'
import type { MeteredService } from '../../../../services/shared/http/metrics.ts'
import { webEnvironment, TOKEN } from './support/web.ts'
import { startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'

let dependencies: Dependencies

beforeAll(async () => {
  dependencies = await startDependencies()
  await dependencies.sql`delete from llm_connections`
})

afterAll(() => dependencies.stop())

async function startWeb(
  extra: EnvSource = {},
): Promise<{ service: MeteredService; lines: string[] }> {
  const lines: string[] = []
  const log = createLog({ name: 'web', destination: { write: (line) => void lines.push(line) } })
  const env = webEnvironment(dependencies.database.url, { ...dependencies.options().env, ...extra })
  const diagnostics = { kubernetes: dependencies.kubernetes.address }
  return { service: await start(env, { log, lingerMs: 0, diagnostics }), lines }
}

const diagnose = (url: string) =>
  fetch(`${url}/health/debug`, { headers: { 'x-platform-debug-token': TOKEN } })

async function read(service: MeteredService): Promise<Record<string, number>> {
  const response = await fetch(`${service.metricsUrl}/metrics`)
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const samples = (await response.text()).matchAll(/^(platform_health_\S+) (\S+)$/gm)
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]))
}

describe('the metrics of the last run', () => {
  it('are on a port of their own, and follow each run; reading them starts none', async () => {
    const { service } = await startWeb({ METRICS_PORT: '0' })
    const before = { ...dependencies.hits }
    expect(await read(service)).not.toHaveProperty(
      'platform_health_component_status{component="database"}',
    )
    expect(dependencies.hits).toEqual(before)
    const { status } = (await (await diagnose(service.url)).json()) as { status: string }
    const samples = await read(service)
    const verdicts: Record<string, number> = { ok: 1, degraded: 0.5, fail: 0 }
    expect(samples['platform_health_status']).toBe(verdicts[status])
    expect(samples['platform_health_duration_seconds']).toBeGreaterThan(0)
    expect(samples['platform_health_last_run_timestamp_seconds']).toBeCloseTo(Date.now() / 1000, -1)
    expect(samples['platform_health_component_status{component="database"}']).toBe(1)
    expect(samples['platform_health_component_status{component="llm_connections"}']).toBe(-1)
    const seconds = 'platform_health_component_duration_seconds{component="database"}'
    expect(samples[seconds]).toBeGreaterThan(0)
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404)
    await service.stop()
    await expect(fetch(`${service.metricsUrl}/metrics`)).rejects.toThrow('fetch failed')
  })

  it('are not served without a port', async () => {
    const { service } = await startWeb()
    expect(service.metricsUrl).toBeUndefined()
    await service.stop()
  })

  it('a port that is taken is a start that fails, and leaves nothing open', async () => {
    const { service } = await startWeb({ METRICS_PORT: '0' })
    const METRICS_PORT = new URL(service.metricsUrl ?? '').port
    await expect(startWeb({ METRICS_PORT })).rejects.toThrow(/is in use/)
    await service.stop()
  })
})

describe('the start of the web service', () => {
  it.each([
    ['', /PLATFORM_DEBUG_TOKEN is not set/],
    ['short', /PLATFORM_DEBUG_TOKEN has fewer than 32 characters and may be guessed/],
  ])('warns of a debug token that is none or short: "%s"', async (token, warning) => {
    const { service, lines } = await startWeb({ PLATFORM_DEBUG_TOKEN: token })
    expect(lines.join('')).toMatch(warning)
    expect((await diagnose(service.url)).status).toBe(404)
    await service.stop()
  })

  it('takes any kind of identity provider by its word, and refuses what is none', async () => {
    await expect(startWeb({ AUTH_PROVIDER: 'Okta, Inc.' })).rejects.toThrow(/AUTH_PROVIDER/)
    await expect(startWeb({ PLATFORM_DEPLOYMENTS: 'web, worker' })).rejects.toThrow(
      /PLATFORM_DEPLOYMENTS must be component names/,
    )
  })

  it('reports the identity it was asked with, and the verdict, in the log', async () => {
    const { service, lines } = await startWeb()
    await diagnose(service.url)
    expect(lines.some((line) => /"audit":"health_debug","identity":"token"/.test(line))).toBe(true)
    await service.stop()
  })
})
