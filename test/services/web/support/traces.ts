import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import { createHarness, postTo, SECRET } from '../../collector/support/harness.ts'
import type { Harness } from '../../collector/support/harness.ts'
import { requestOf, toProtobuf } from '../../collector/support/otlp.ts'
import type { OtlpSpan } from '../../collector/support/otlp.ts'
import { openConsole } from './console.ts'
import type { Console } from './console.ts'
import type { Tenant } from './platform.ts'

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
    async send(tenant, spans) {
      const organization = String(tenant.organizationId)
      const token = await signCollectorToken(SECRET, 'test', { organization })
      const headers = { authorization: `Bearer ${token}` }
      const answer = await postTo(url, toProtobuf(requestOf(...spans)), headers)
      expect(await answer.text()).toBe('')
    },
    async close() {
      await site.close()
      await collector.stop()
    },
  }
}

export const freshTraceId = (): string => randomBytes(16).toString('hex')
