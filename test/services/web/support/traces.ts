import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import { openTraceTokens } from '../../../../services/web/traces/trace-tokens.ts'
import { openTraces } from '../../../../services/web/traces/trace-reader.ts'
import { createHarness, postTo, SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { requestOf, toProtobuf } from '../../collector/support/otlp.ts'
import type { OtlpSpan, ResourceSpans } from '../../collector/support/otlp.ts'
import { openConsole } from './console.ts'
import type { Console } from './console.ts'
import { BASE_URL, openPlatform } from './platform.ts'
import type { Platform, Tenant } from './platform.ts'

/** A console beside a collector, and what sends spans of an organization. */
export interface TracedConsole {
  readonly site: Console
  readonly collector: Harness
  send(tenant: Tenant, spans: readonly OtlpSpan[]): Promise<void>
  close(): Promise<void>
}

/** Opens a console over a real collector. */
export async function openTracedConsole(): Promise<TracedConsole> {
  const collector = await createHarness()
  const { url } = collector.collector
  const variables = { COLLECTOR_URL: url, COLLECTOR_JWT_SECRET: SECRET }
  const site = await openConsole({ variables })
  return {
    site,
    collector,
    send: (tenant, spans) => sendTo(url, tenant, { spans }),
    async close() {
      await site.close()
      await collector.stop()
    },
  }
}

export const freshTraceId = (): string => randomBytes(16).toString('hex')

/** The app without a browser beside a collector, and what asks it as a person of a tenant. */
export interface TracedApp {
  readonly platform: Platform
  readonly app: Platform['app']
  readonly collector: Harness
  send(
    tenant: Tenant,
    spans: readonly OtlpSpan[],
    resource?: ResourceSpans['resource'],
  ): Promise<void>
  get(tenant: Tenant, path: string): Promise<Response>
  close(): Promise<void>
}

/** Opens the app over a real collector. */
export async function openTracedApp(): Promise<TracedApp> {
  const [collector, platform] = await Promise.all([createHarness(), openPlatform()])
  const { url } = collector.collector
  const place = { collectorUrl: url, secret: SECRET }
  const traces = openTraces(place)
  const traceTokens = openTraceTokens(place, url)
  const app = platform.appAt(BASE_URL, {}, { traces, traceTokens })
  const cookies = new Map<Tenant, string>()
  return {
    platform,
    app,
    collector,
    send: (tenant, spans, resource) =>
      sendTo(url, tenant, resource ? { spans, resource } : { spans }),
    async get(tenant, path) {
      const cookie = cookies.get(tenant) ?? (await platform.signIn(tenant)).cookie
      cookies.set(tenant, cookie)
      return app.request(path, { headers: { cookie, accept: 'text/html' } })
    },
    async close() {
      await platform.close()
      await collector.stop()
    },
  }
}

interface Sent {
  readonly spans: readonly OtlpSpan[]
  /** A resource in place of the usual one. */
  readonly resource?: ResourceSpans['resource']
}

/** Sends spans as a tenant does. */
export async function sendTo(
  url: string,
  tenant: Tenant,
  { spans, resource }: Sent,
): Promise<void> {
  const organization = String(tenant.organizationId)
  const token = await signCollectorToken(SECRET, 'test', { organization })
  const headers = { authorization: `Bearer ${token}` }
  const { resourceSpans = [] } = requestOf(...spans)
  const request = {
    resourceSpans: resourceSpans.map((each) => ({
      ...each,
      ...(resource ? { resource } : {}),
    })),
  }
  const answer = await postTo(url, toProtobuf(request), headers)
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
}
