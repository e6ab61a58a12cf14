import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kickoff } from '../../services/platform/runs/runs.ts'
import { createWorkloadRule } from '../../services/platform/workloads/workload-rules.ts'
import { start } from '../../services/oauth/start.ts'
import { createLog } from '../../services/shared/log.ts'
import type { Service } from '../../services/shared/http/serve.ts'
import { freePort } from '../support/free-port.ts'
import { startKeycloak, whyNoKeycloak } from '../support/keycloak.ts'
import type { Keycloak } from '../support/keycloak.ts'
import { API_KEY, ENCRYPTION_KEY } from './oauth/platform.ts'
import { BASE_URL, openPlatform, readObject } from './web/support/platform.ts'
import type { Platform, Tenant } from './web/support/platform.ts'
import {
  bind,
  configure,
  newCaller,
  SCOPE,
  settingsFor,
} from './web/support/platform-with-oauth.ts'

const VERSION = process.env['KEYCLOAK']
const missing = whyNoKeycloak(VERSION)
if (missing !== undefined) console.log(`Keycloak was not asked: ${missing}.`)

const REALM = 'crews'
const SECRET = 'the-secret-of-a-client'
const TIMEOUT_MS = 600_000

describe.runIf(missing === undefined)(
  'a real Keycloak',
  () => {
    let platform: Platform
    let keycloak: Keycloak
    let oauth: Service
    let app: Platform['app']
    let issuer: string
    let count = 0

    beforeAll(async () => {
      ;[platform, keycloak] = await Promise.all([openPlatform(), startKeycloak(VERSION ?? '')])
      issuer = `${keycloak.url}/realms/${REALM}`
      const port = await freePort()
      const environment = {
        DATABASE_URL: platform.url,
        PORT: String(port),
        HOST: '127.0.0.1',
        PLATFORM_OAUTH_API_KEY: API_KEY,
        OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
        OAUTH_PUBLIC_URL: `http://127.0.0.1:${port}`,
        CONNECTION_PRIVATE_ORIGINS: keycloak.url,
      }
      oauth = await start(environment, { log: createLog({ name: 'oauth', level: 'silent' }) })
      app = platform.appAt(BASE_URL, {
        TRUSTED_PROXIES: '1',
        AUTOMATION_OAUTH_PRIVATE_ORIGINS: keycloak.url,
      })
      await setUpRealm()
    }, TIMEOUT_MS)
    afterAll(async () => {
      await oauth.stop()
      await Promise.all([keycloak.stop(), platform.close()])
    }, TIMEOUT_MS)

    const apiOf = ({ research }: Tenant) =>
      `${BASE_URL}/platform/api/v1/crew/${research.automationId}`

    async function setUpRealm(): Promise<void> {
      await keycloak.create('', { realm: REALM, enabled: true })
      await keycloak.create(`/${REALM}/client-scopes`, {
        name: SCOPE,
        protocol: 'openid-connect',
        attributes: { 'include.in.token.scope': 'true' },
      })
      for (const id of ['bound', 'other']) await makeClient(id, { audience: BASE_URL })
      await makeClient('job', { audience: apiOf(platform.acme) })
      await makeClient('unrelated', { audience: apiOf(platform.rival) })
    }

    /** Makes a client that acts for itself, with tokens for one audience. */
    const makeClient = (
      id: string,
      { audience, ...more }: { audience: string; [field: string]: unknown },
    ) =>
      keycloak.create(`/${REALM}/clients`, {
        clientId: id,
        secret: SECRET,
        serviceAccountsEnabled: true,
        standardFlowEnabled: false,
        fullScopeAllowed: false,
        defaultClientScopes: ['basic'],
        optionalClientScopes: [SCOPE],
        protocolMappers: [
          {
            name: 'audience',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-audience-mapper',
            config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
          },
        ],
        ...more,
      })

    const tokenOf = (id: string, scope: string | undefined = SCOPE) =>
      keycloak.tokenOf(REALM, { id, secret: SECRET, ...(scope !== '' && { scope }) })

    async function call(bearer: string, path = 'inputs', at = platform.acme) {
      const response = await app.request(`${apiOf(at)}/${path}`, { headers: newCaller(bearer) })
      return { status: response.status, body: await readObject(response) }
    }

    it('as the identity provider opens an automation to its bound client alone', async () => {
      const { acme, rival } = platform
      await configure(platform, acme, settingsFor(issuer))
      await bind(platform, acme, 'bound')
      expect(await call(await tokenOf('bound'))).toMatchObject({ status: 200 })
      expect(await call(await tokenOf('other'))).toMatchObject({
        status: 401,
        body: { details: { reason: 'client_mismatch' } },
      })
      expect(await call(await tokenOf('job'))).toMatchObject({
        status: 401,
        body: { details: { reason: 'wrong_audience' } },
      })
      expect(await call(await tokenOf('bound', ''))).toMatchObject({ status: 403 })
      expect(await call(await tokenOf('bound'), 'inputs', rival)).toMatchObject({ status: 401 })
      const ofDigest = `${BASE_URL}/platform/api/v1/crew/${acme.digest.automationId}/inputs`
      const digest = await app.request(ofDigest, { headers: newCaller(await tokenOf('bound')) })
      expect(digest.status).toBe(401)
    })

    it('as the issuer of a workload rule has its tokens exchanged, each once', async () => {
      const { sql, acme } = platform
      await createWorkloadRule(sql, acme.research.id, {
        name: 'Jobs',
        issuer,
        jwksUrl: null,
        claims: { azp: 'job' },
        scopes: ['kickoff', 'read'],
        minutes: 5,
        isReusable: false,
      })
      const exchange = async (token: string) => {
        const body = new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
          subject_token: token,
          audience: apiOf(acme),
        }).toString()
        const headers = { ...newCaller(), 'content-type': 'application/x-www-form-urlencoded' }
        const path = `${BASE_URL}/oauth/token`
        return readObject(await app.request(path, { method: 'POST', body, headers }))
      }
      const token = await tokenOf('job')
      const { access_token: bearer } = await exchange(token)
      expect(await call(String(bearer))).toMatchObject({ status: 200 })
      expect(await exchange(token)).toMatchObject({ error: 'invalid_request' })
      for (const id of ['bound', 'unrelated']) {
        expect(await exchange(await tokenOf(id))).toMatchObject({ error: 'invalid_request' })
      }
    })

    describe('as a token service', () => {
      const post = async (path: string, body: object) => {
        const response = await fetch(oauth.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        return { status: response.status, body: await readObject(response) }
      }

      async function connect(fields: object): Promise<string> {
        const { body } = await post(`/organizations/${platform.acme.organizationId}/connections`, {
          provider: 'identity',
          kind: 'identity',
          audience: issuer,
          hosts: ['127.0.0.1'],
          issuer,
          name: `keycloak-${(count += 1)}`,
          ...fields,
        })
        return String(body['connection_id'])
      }

      async function startRun(): Promise<{ runId: string; sub: string }> {
        const { sql, acme } = platform
        const { id: deploymentId, automationId } = acme.research
        const runId = await kickoff(sql, { deploymentId, inputs: { topic: 'tides' } })
        await sql`
        update executions set status = 'running', lease_id = gen_random_uuid(),
          lease_expires_at = now() + interval '1 minute' where id = ${runId}`
        const of = `organization:${acme.organizationId}:automation:${automationId}`
        return { runId, sub: `${of}:version:1:run:${runId}` }
      }
      const endRun = (runId: string) => platform.sql`
      update executions set status = 'stopped', finished_at = now(), lease_id = null,
        lease_expires_at = null where id = ${runId}`

      const tokenFor = (connection: string, runId: string) =>
        post(`/connections/${connection}/token`, { kickoff_id: runId })

      const trust = (alias: string, config: object) =>
        keycloak.create(`/${REALM}/identity-provider/instances`, {
          alias,
          providerId: 'oidc',
          enabled: true,
          config: {
            issuer: oauth.url,
            clientId: 'crews',
            clientSecret: 'unused',
            authorizationUrl: `${oauth.url}/unused`,
            tokenUrl: `${oauth.url}/unused`,
            useJwksUrl: 'true',
            jwksUrl: `${oauth.url}/identity/keys`,
            validateSignature: 'true',
            ...config,
          },
        })

      /** Keycloak's own token, as whoever takes it checks it. */
      const verify = async (token: unknown) => {
        const keys = createRemoteJWKSet(new URL(`${issuer}/protocol/openid-connect/certs`))
        return (await jwtVerify(String(token), keys, { issuer })).payload
      }

      it('takes the identity of a run as a grant, and as the proof of a client', async () => {
        await trust('runs', {
          jwtAuthorizationGrantEnabled: 'true',
          jwtAuthorizationGrantMaxAllowedAssertionExpiration: '900',
          supportsClientAssertions: 'true',
          supportsClientAssertionReuse: 'false',
        })
        const { runId, sub } = await startRun()
        const stranger = await startRun()
        await makeClient('granted', {
          audience: 'https://mcp.example.com',
          attributes: {
            'oauth2.jwt.authorization.grant.enabled': 'true',
            'oauth2.jwt.authorization.grant.idp': 'runs',
          },
        })
        const user = { username: 'research', email: 'research@acme.test', emailVerified: true }
        const names = { firstName: 'Research', lastName: 'Acme', enabled: true }
        const userId = await keycloak.create(`/${REALM}/users`, { ...user, ...names })
        await keycloak.create(`/${REALM}/users/${userId}/federated-identity/runs`, {
          identityProvider: 'runs',
          userId: sub,
          userName: 'research',
        })
        const granted = await connect({
          exchange: 'jwt_bearer',
          client_id: 'granted',
          client_secret: SECRET,
          token_endpoint_auth_method: 'client_secret_basic',
        })
        const given = await tokenFor(granted, runId)
        expect(given.status, JSON.stringify(given.body)).toBe(200)
        expect(await verify(given.body['access_token'])).toMatchObject({
          sub: userId,
          azp: 'granted',
          aud: 'https://mcp.example.com',
        })
        expect((await tokenFor(granted, stranger.runId)).status).toBe(403)

        await makeClient('proven', {
          audience: 'https://mcp.example.com',
          clientAuthenticatorType: 'federated-jwt',
          attributes: { 'jwt.credential.issuer': 'runs', 'jwt.credential.sub': sub },
        })
        const proven = await connect({ exchange: 'client_assertion', client_id: 'proven' })
        const proof = await tokenFor(proven, runId)
        expect(proof.status, JSON.stringify(proof.body)).toBe(200)
        expect(await verify(proof.body['access_token'])).toMatchObject({ azp: 'proven' })
        expect((await tokenFor(proven, stranger.runId)).status).not.toBe(200)

        await endRun(runId)
        for (const each of [granted, proven]) {
          expect(await tokenFor(each, runId)).toMatchObject({ status: 409 })
        }
      })

      it('refuses the identity for another audience', async () => {
        const { runId } = await startRun()
        const elsewhere = await connect({
          audience: 'https://mcp.example.com',
          exchange: 'jwt_bearer',
          client_id: 'granted',
          client_secret: SECRET,
          token_endpoint_auth_method: 'client_secret_post',
        })
        expect((await tokenFor(elsewhere, runId)).status).toBe(403)
      })
    })
  },
  TIMEOUT_MS,
)
