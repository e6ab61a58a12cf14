import { createLlmConnection } from '../../../../../services/platform/connections/llm-connections.ts'
import { connectDatabase } from '../../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../../services/shared/postgres/address.ts'
import { CHART_DEPLOYMENTS } from '../../../../../services/web/diagnostics/checks/platform-pods.ts'
import { startKubernetes } from '../../../../support/kubernetes.ts'
import { createDatabase } from '../../../../support/postgres.ts'
import { install } from './web.ts'
import type { WebOptions } from './web.ts'
import { httpServer } from './faults.ts'

export const OAUTH_KEY = 'an-api-key-of-the-oauth-service-of-32-characters'
export const LIST =
  '/apis/apps/v1/namespaces/install/' +
  'deployments?labelSelector=app.kubernetes.io%2Finstance%3Dacme&limit=500'

export type Dependencies = Awaited<ReturnType<typeof startDependencies>>

/**
 * Everything that the report looks at, all of it well: a database, the services, an identity
 * provider, a cluster.
 */
export async function startDependencies() {
  const database = await createDatabase('platform')
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 2 })
  const organizationId = await install(sql)
  const connection = { organizationId, name: 'gpt', model: 'm', baseUrl: null }
  await createLlmConnection(sql, { ...connection, provider: 'openai' })
  const hits = { auth: 0, collector: 0, oauth: 0, llm_connections: 0 }
  const well = (name: keyof typeof hits) =>
    httpServer((request, response) => {
      hits[name] += 1
      const base = `http://${request.headers.host}`
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ status: 'ok', issuer: base, jwks_uri: `${base}/keys` }))
    })
  const servers = {
    auth: await well('auth'),
    collector: await well('collector'),
    oauth: await well('oauth'),
    llm_connections: await well('llm_connections'),
  }
  const kubernetes = await startKubernetes()
  const items = CHART_DEPLOYMENTS.map((name) => deployment(`acme-${name}`))
  kubernetes.objects.set(LIST, { kind: 'DeploymentList', metadata: {}, items })
  for (const name of ['crew-assistant', 'crew-runner']) {
    const path = `/apis/apps/v1/namespaces/crews/deployments/${name}`
    kubernetes.objects.set(path, deployment(name))
  }
  return {
    database,
    sql,
    organizationId,
    kubernetes,
    /** How often each service was asked. */
    hits,
    /** A web service with these dependencies, but for what is given. */
    options: (change: Partial<WebOptions> = {}): WebOptions => {
      const env = {
        AUTH_PROVIDER: 'okta',
        OIDC_ISSUER_URL: servers.auth.url,
        OIDC_CLIENT_ID: 'platform',
        OIDC_CLIENT_SECRET: 'a-client-secret',
        COLLECTOR_URL: servers.collector.url,
        PLATFORM_OAUTH_API_BASE_URL: servers.oauth.url,
        PLATFORM_OAUTH_API_KEY: OAUTH_KEY,
        OPENAI_API_KEY: 'x',
        RELEASE_NAME: 'acme',
        POD_NAMESPACE: 'install',
        K8S_NAMESPACE: 'crews',
        ...change.env,
      }
      return {
        databaseUrl: database.url,
        ...change,
        env,
        diagnostics: {
          env,
          kubernetes: kubernetes.address,
          providerUrls: { openai: servers.llm_connections.url },
          ...change.diagnostics,
        },
      }
    },
    async stop() {
      await Promise.all(Object.values(servers).map((server) => server.stop()))
      await kubernetes.stop()
      await sql.end()
      await database.drop()
    },
  }
}

const deployment = (name: string) => ({
  metadata: { name, generation: 1 },
  spec: { replicas: 1 },
  status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, updatedReplicas: 1 },
})
