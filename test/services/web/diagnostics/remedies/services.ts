import { start as startCollector } from '../../../../../services/collector/start.ts'
import { start as startOauth } from '../../../../../services/oauth/start.ts'
import { resumeTraceForward } from '../../../../../services/platform/traces/trace-forwards.ts'
import type { TraceForward } from '../../../../../services/platform/traces/trace-forwards.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { freePort } from '../../../../support/free-port.ts'
import { startIdentityProvider } from '../../../../support/identity-provider.ts'
import { createDatabase } from '../../../../support/postgres.ts'
import { OAUTH_KEY } from '../support/dependencies.ts'
import { closed, httpServer } from '../support/faults.ts'
import { says, server, variable } from './scene.ts'
import type { Case } from './scene.ts'

const log = createLog({ name: 'test', level: 'silent' })

/** A discovery document as it should be. */
const discovery = says(200, (issuer) => ({ issuer, jwks_uri: `${issuer}/keys` }))

const provider = (wrong: Parameters<typeof server>[1]['wrong']): Case =>
  server('auth', { name: 'OIDC_ISSUER_URL', wrong, right: discovery })

/** The collector says of itself what is wrong. */
const collector = (trouble: Record<string, unknown>): Case => {
  const well = { status: 'ok', database: 'up', storage: 'ok', clock: 'ok', days_held_back: 0 }
  return server('collector', {
    name: 'COLLECTOR_URL',
    wrong: says(200, () => ({ ...well, status: 'degraded', ...trouble })),
    right: says(200, () => well),
  })
}

/** The services around the platform, and the providers of models. */
export const SERVICE_CASES = {
  idp_unreachable: {
    component: 'auth',
    async stage({ options }) {
      const none = await closed()
      const there = await startIdentityProvider({ clients: [] })
      return {
        broken: options({ env: { OIDC_ISSUER_URL: none.url } }),
        follow: () => options({ env: { OIDC_ISSUER_URL: there.issuer } }),
        end: () => there.stop(),
      }
    },
  },
  idp_http_error: provider(says(404, () => ({}))),
  idp_document_incomplete: provider(says(200, () => ({ hello: 'world' }))),
  idp_issuer_mismatch: {
    component: 'auth',
    async stage({ options }) {
      const there = await startIdentityProvider({ clients: [] })
      const broken = options({
        env: { OIDC_ISSUER_URL: `${there.issuer.replace('127.0.0.1', 'localhost')}` },
      })
      return {
        broken,
        follow({ details }) {
          const [, named = ''] = /document names (\S+?)"/.exec(JSON.stringify(details)) ?? []
          return options({ env: { OIDC_ISSUER_URL: named } })
        },
        end: () => there.stop(),
      }
    },
  },
  clock_skewed: server('auth', {
    name: 'OIDC_ISSUER_URL',
    wrong(request, response) {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      discovery(request, response)
    },
    right: discovery,
  }),
  collector_unreachable: {
    component: 'collector',
    async stage({ options }) {
      const PORT = String(await freePort())
      const traces = await createDatabase('empty')
      const env = {
        HOST: '127.0.0.1',
        PORT,
        METRICS_PORT: '0',
        DATABASE_URL: traces.url,
        COLLECTOR_JWT_SECRET: 'a-secret-of-the-collector-of-32-characters',
      }
      let running: Awaited<ReturnType<typeof startCollector>> | undefined
      return {
        broken: options({ env: { COLLECTOR_URL: `http://127.0.0.1:${PORT}` } }),
        async follow() {
          running = await startCollector(env, { log, drainMs: 0 })
          await running.ready
        },
        async end() {
          await running?.stop()
          await traces.drop()
        },
      }
    },
  },
  collector_unrecognized: server('collector', {
    name: 'COLLECTOR_URL',
    wrong: (_, response) => void response.end('<!doctype html><title>Welcome</title>'),
    right: says(200, () => ({ status: 'ok' })),
  }),
  collector_database_down: collector({ database: 'down' }),
  collector_storage_full: collector({ storage: 'full' }),
  collector_storage_ends_soon: collector({
    storage_full_on: new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10),
  }),
  collector_clock_skewed: collector({ clock: 'skewed' }),
  collector_retention_late: collector({ days_held_back: 2 }),
  collector_roll_ups_late: collector({ roll_ups: 'late' }),
  collector_archive_failing: collector({ archive_failure: '2026-11-21: no' }),
  trace_forwards_late: {
    component: 'collector',
    async stage({ sql, options }) {
      const there = await httpServer(says(200, () => ({ status: 'ok' })))
      const [forward] = await sql<[TraceForward]>`
        insert into trace_forwards (organization_id, name, endpoint, share, failing_since)
        select id, 'Langfuse', 'https://otlp.example.com', 100, now() - interval '11 minutes'
        from organizations limit 1 returning id, organization_id`
      await sql`
        insert into trace_forwards (organization_id, name, endpoint, share, waiting_since)
        select organization_id, 'On time', endpoint, 100, now() - interval '9 minutes'
        from trace_forwards`
      return {
        broken: options({ env: { COLLECTOR_URL: there.url } }),
        follow: () => resumeTraceForward(sql, forward),
        end: () => there.stop(),
      }
    },
  },
  oauth_key_missing: variable('oauth', { PLATFORM_OAUTH_API_KEY: '' }),
  oauth_unreachable: {
    component: 'oauth',
    async stage({ options, database }) {
      const PORT = String(await freePort())
      const url = `http://127.0.0.1:${PORT}`
      const env = {
        HOST: '127.0.0.1',
        PORT,
        DATABASE_URL: database.url,
        PLATFORM_OAUTH_API_KEY: OAUTH_KEY,
        OAUTH_ENCRYPTION_KEY: 'an-encryption-key-of-more-than-32-characters',
        OAUTH_PUBLIC_URL: url,
      }
      let running: Awaited<ReturnType<typeof startOauth>> | undefined
      return {
        broken: options({ env: { PLATFORM_OAUTH_API_BASE_URL: url } }),
        follow: async () => void (running = await startOauth(env, { log, lingerMs: 0 })),
        end: async () => running?.stop(),
      }
    },
  },
  oauth_http_error: server('oauth', {
    name: 'PLATFORM_OAUTH_API_BASE_URL',
    wrong: says(500, () => ({})),
    right: says(200, () => ({ status: 'ok' })),
  }),
  llm_missing_credentials: variable('llm_connections', { OPENAI_API_KEY: '' }),
  llm_unreachable: {
    component: 'llm_connections',
    async stage({ options }) {
      const none = await closed()
      return {
        broken: options({ diagnostics: { providerUrls: { openai: none.url } } }),
        follow: () => options(),
      }
    },
  },
  llm_provider_unsupported: {
    component: 'llm_connections',
    async stage({ sql, options }) {
      const env = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' }
      await sql`update llm_connections set provider = 'bedrock'`
      return {
        broken: options({ env }),
        async follow() {
          await sql`update llm_connections set base_url = 'https://gateway.acme.test/v1'`
          return options({ env })
        },
        end: () => sql`update llm_connections set provider = 'openai', base_url = null`,
      }
    },
  },
} satisfies Record<string, Case>
