import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession } from '../../../../services/platform/people/sessions.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import { addressUrl } from '../../../support/address-url.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { codeOf, serveWeb, TOKEN, warningsOf } from './support/web.ts'
import type { WebOptions } from './support/web.ts'
import { closed, httpServer } from './support/faults.ts'
import type { Fault } from './support/faults.ts'
import { LIST, startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'

/** Each stands for a secret that something else tells us in its error. */
const CANARY = 'canary7f3e'
const LEAKS = [
  `Authorization: Bearer ${CANARY}abcdefgh`,
  `postgres://platform:${CANARY}@db.internal:5432/platform`,
  `sk-${CANARY}-0123456789`,
  `ghp_${CANARY}0123456789`,
  `eyJhbGciOiJIUzI1NiJ9.${CANARY}.c2lnbmF0dXJl`,
  `https://idp.test/callback?code=${CANARY}&state=${CANARY}`,
  `password=${CANARY} {"api_key":"${CANARY}"}`,
  `the key ${CANARY}-of-openai, the token ${TOKEN}`,
  `${'x'.repeat(990)} sk-${CANARY}-0123456789`,
].join(' ')

let dependencies: Dependencies
let cookie: string
let leaking: Fault
let unavailable: Fault

beforeAll(async () => {
  dependencies = await startDependencies()
  const { sql, organizationId } = dependencies
  const user = { organizationId, email: 'admin@acme.test', name: 'Ada', passwordHash: null }
  const userId = await ensureUser(sql, user)
  await grantRole(sql, userId, 'platform-admin')
  cookie = `platform_session=${await createSession(sql, userId)}`
  leaking = await httpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-leak': CANARY })
    response.end(JSON.stringify({ issuer: LEAKS, jwks_uri: LEAKS, status: LEAKS, message: LEAKS }))
  })
  unavailable = await closed()
})

afterAll(async () => {
  await leaking.stop()
  await dependencies.stop()
})

/** Everything that one can see of a run, and how the components did. */
async function everythingOf(options: WebOptions) {
  const web = await serveWeb(options)
  const { report } = await web.report()
  const page = (query = '') =>
    fetch(`${web.url}/admin/platform_health${query}`, { headers: { cookie } })
  const texts = [await page(), await page('?download=1')].map(async (response) => {
    expect(response.status).toBe(200)
    return response.text()
  })
  const seen = [JSON.stringify(report), ...(await Promise.all(texts)), web.lines.join('')]
  await web.close()
  return { report, seen }
}

describe('secrets in what others answer (SPEC 7)', () => {
  it('never reach the report, the page, the download or the log', async () => {
    dependencies.kubernetes.intercept = (call, response) => {
      const isList = call.path === LIST
      response.writeHead(isList ? 200 : 403, { 'content-type': 'application/json' })
      const status = {
        conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'Leak', message: LEAKS }],
      }
      const item = { metadata: { name: 'acme-web' }, spec: { replicas: 1 }, status }
      const refusal = { kind: 'Status', reason: 'Forbidden', message: LEAKS }
      response.end(JSON.stringify(isList ? { items: [item] } : refusal))
      return true
    }
    const { report, seen } = await everythingOf(
      dependencies.options({
        env: {
          OIDC_ISSUER_URL: leaking.url,
          COLLECTOR_URL: leaking.url,
          PLATFORM_OAUTH_API_BASE_URL: unavailable.url.replace('http://', `http://user:${CANARY}@`),
          PLATFORM_OAUTH_API_KEY: `${CANARY}-of-the-oauth-service-0123456789`,
          OPENAI_API_KEY: `${CANARY}-of-openai`,
          SECRET_KEY_BASE: `${CANARY}-of-the-sessions-0123456789`,
          COLLECTOR_JWT_SECRET: `${CANARY}-of-the-collector-0123456789`,
        },
      }),
    )
    expect(warningsOf(report.components.auth)).toMatchObject([{ code: 'idp_issuer_mismatch' }])
    expect(codeOf(report.components.designer)).toBe('rbac_forbidden')
    expect(codeOf(report.components.platform_pods)).toBe('deployments_unready')
    expect(warningsOf(report.components.collector)).toMatchObject([
      { code: 'collector_unrecognized' },
    ])
    expect(codeOf(report.components.oauth)).toBe('oauth_unreachable')
    expect(JSON.stringify(report)).toContain('[redacted]')
    for (const text of seen) expect(text).not.toContain(CANARY)
    for (const text of seen) expect(text).not.toContain(TOKEN)
  })

  it('nor does the password of the database', async () => {
    const address = { ...parseAddress(dependencies.database.url), password: `${CANARY}-password` }
    const web = await serveWeb({
      databaseUrl: addressUrl({ ...address, database: 'not_there' }),
    })
    const { report } = await web.report()
    expect(report.components.database.status).toBe('fail')
    expect(JSON.stringify(report) + web.lines.join('')).not.toContain(CANARY)
    await web.close()
  })

  it('a text of megabytes is cut', async () => {
    dependencies.kubernetes.intercept = (_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ reason: 'Forbidden', message: 'a'.repeat(4 << 20) }))
      return true
    }
    const web = await serveWeb(dependencies.options())
    const { report } = await web.report()
    expect(codeOf(report.components.platform_pods)).toBe('rbac_forbidden')
    expect(JSON.stringify(report).length).toBeLessThan(10_000)
    await web.close()
  })
})
