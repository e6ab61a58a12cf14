import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import { createWorkloadRule } from '../../../../../services/platform/workloads/workload-rules.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { start } from '../../../../../services/oauth/start.ts'
import { freePort } from '../../../../support/free-port.ts'
import { createSigningKey, signToken, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer, SigningKey } from '../../../../support/key-server.ts'
import { firstOfEach } from '../../../../support/long.ts'
import { API_KEY, ENCRYPTION_KEY } from '../../../oauth/platform.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, Tenant } from '../../support/platform.ts'
import {
  bind,
  CLIENT,
  configure,
  goodClaims,
  newCaller,
  settingsFor,
} from '../../support/platform-with-oauth.ts'

const SUB = 'repo:acme/site:ref:refs/heads/main'
const ELSEWHERE = 'https://mcp.example.com'
const FRESH_MS = 11 * 60_000

let platform: Platform
let idp: KeyServer
let key: SigningKey
let oauth: Service
let app: Platform['app']

beforeAll(async () => {
  // The clock alone, so that keys get old at once.
  vi.useFakeTimers({ toFake: ['Date'] })
  key = createSigningKey('key-1')
  idp = await startKeyServer([key])
  platform = await openPlatform()
  const port = await freePort()
  const environment = {
    DATABASE_URL: platform.url,
    PORT: String(port),
    HOST: '127.0.0.1',
    PLATFORM_OAUTH_API_KEY: API_KEY,
    OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
    OAUTH_PUBLIC_URL: `http://127.0.0.1:${port}`,
  }
  const log = createLog({ name: 'oauth', level: 'silent' })
  oauth = await start(environment, { log, lingerMs: 0 })
  app = platform.appAt(BASE_URL, {
    TRUSTED_PROXIES: '1',
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: [idp.issuer, oauth.url].join(','),
  })
  const { acme, rival, sql } = platform
  await configure(platform, acme, settingsFor(idp.issuer))
  await bind(platform, acme, CLIENT)
  // The address of all automations takes access tokens while there is one organization.
  await sql`update organizations set internal = true where id = ${rival.organizationId}`
  const rule = {
    jwksUrl: null,
    scopes: ['kickoff', 'read'],
    minutes: 5,
    isReusable: false,
  } as const
  const site = { ...rule, name: 'Site', issuer: idp.issuer, claims: { sub: SUB } }
  await createWorkloadRule(sql, acme.research.id, site)
  const claims = { organization_id: String(acme.organizationId), automation: 'acme-research' }
  const runs = { ...rule, name: 'Runs', issuer: oauth.url, claims }
  await createWorkloadRule(sql, acme.digest.id, runs)
})
afterAll(async () => {
  vi.useRealTimers()
  await oauth.stop()
  await Promise.all([idp.stop(), platform.close()])
})

const apiOf = ({ automationId }: Automation) => `${BASE_URL}/platform/api/v1/crew/${automationId}`
const JSON_TYPE = { 'content-type': 'application/json' }

/** Asks for something that only a good credential gets, and returns the status. */
const openDoor = async (path: string, init: RequestInit): Promise<number> => {
  const response = await app.request(path, init)
  const text = await response.text()
  // What an error of JSON-RPC says is said to a caller that passed.
  return text.includes('"error"') && response.status === 200 ? 0 : response.status
}

const readAt = (of: Automation) => (bearer: string) =>
  openDoor(`${apiOf(of)}/inputs`, { headers: newCaller(bearer) })
const listAt = (url: string) => (bearer: string) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  return openDoor(url, { method: 'POST', body, headers: { ...newCaller(bearer), ...JSON_TYPE } })
}
const exchangeFor = (of: Automation) => (token: string) => {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: token,
    audience: apiOf(of),
  }).toString()
  const headers = { ...newCaller(), 'content-type': 'application/x-www-form-urlencoded' }
  return openDoor(`${BASE_URL}/oauth/token`, { method: 'POST', body, headers })
}
async function askForIdentity(bearer: string): Promise<number> {
  const headers = { authorization: `Bearer ${bearer}` }
  const path = `/connections?organization_id=${platform.acme.organizationId}`
  const response = await fetch(oauth.url + path, { headers })
  await response.body?.cancel()
  return response.status
}

const openDoors = (): Record<string, (credential: string) => Promise<number>> => {
  const { acme, rival } = platform
  return {
    'API of research': readAt(acme.research),
    'API of digest': readAt(acme.digest),
    "API of the rival's research": readAt(rival.research),
    'MCP of all': listAt(`${BASE_URL}/mcp`),
    'MCP of research': listAt(`${apiOf(acme.research)}/mcp`),
    'A2A of research': (bearer) =>
      openDoor(`${apiOf(acme.research)}/a2a/tasks`, {
        headers: { ...newCaller(bearer), 'a2a-version': '1.0' },
      }),
    'exchange for research': exchangeFor(acme.research),
    'exchange for digest': exchangeFor(acme.digest),
    'OAuth service': askForIdentity,
  }
}

async function opens(credential: string): Promise<string[]> {
  const passed: string[] = []
  for (const [name, open] of Object.entries(openDoors())) {
    const status = await open(credential)
    if (status === 200) passed.push(name)
  }
  return passed
}

let count = 0
const mintAssertion = (changes: Record<string, unknown> = {}) => {
  const iat = Math.floor(Date.now() / 1000)
  const own = { iss: idp.issuer, aud: apiOf(platform.acme.research), sub: SUB, iat, exp: iat + 300 }
  const claims = { ...own, jti: String((count += 1)), ...changes }
  return signToken({ alg: 'RS256', kid: 'key-1' }, claims, key)
}

/** Lets a run get its identity for an audience, as the tools of a crew do. */
async function identityOf({ organizationId, research }: Tenant, audience: string): Promise<string> {
  const { sql } = platform
  const post = async (path: string, body: object) => {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${API_KEY}` }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return readObject(await fetch(oauth.url + path, init))
  }
  const fields = { provider: 'identity', kind: 'identity', audience, hosts: ['example.com'] }
  const name = `identity-${(count += 1)}`
  const made = await post(`/organizations/${organizationId}/connections`, { ...fields, name })
  const runId = await kickoff(sql, { deploymentId: research.id, inputs: { topic: 'tides' } })
  await sql`
    update executions set status = 'running', lease_id = gen_random_uuid(),
      lease_expires_at = now() + interval '1 minute' where id = ${runId}`
  const id = String(made['connection_id'])
  return String((await post(`/connections/${id}/token`, { kickoff_id: runId }))['access_token'])
}

const group = v.object({
  file: v.string(),
  group: v.string(),
  keys: v.array(v.looseObject({})),
  tests: v.array(v.object({ tcId: v.number(), comment: v.string(), jws: v.string() })),
})

describe('each door', () => {
  it('is opened by no vector of Wycheproof, though their keys are published', async () => {
    const path = new URL('wycheproof/vectors.jsonl', import.meta.url)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const groups = lines.map((line) => v.parse(v.pipe(v.string(), v.parseJson(), group), line))
    const passed: string[] = []
    let tried = 0
    for (const { keys, tests, ...of } of firstOfEach(groups, (each) => each.keys[0]?.['kty'])) {
      idp.publish({ keys })
      vi.setSystemTime(Date.now() + FRESH_MS)
      for (const { jws, tcId } of firstOfEach(tests, ({ comment }) => comment.slice(0, 12))) {
        tried += 1
        for (const door of await opens(jws)) passed.push(`${of.file} ${of.group} ${tcId}: ${door}`)
      }
    }
    idp.publishKeys(key)
    vi.setSystemTime(Date.now() + FRESH_MS)
    expect(passed).toEqual([])
    expect(tried).toBeGreaterThan(20)
  })

  it('is opened by the credentials that are meant for it, and by no others', async () => {
    const { sql, acme, rival } = platform
    const { organizationId } = acme
    const issued = { organizationId, name: 'one', createdBy: null }
    const good = signToken({ alg: 'RS256', kid: 'key-1' }, goodClaims(idp.issuer), key)
    const unbound = signToken({ alg: 'RS256', kid: 'key-1' }, goodClaims(idp.issuer, 'other'), key)
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: mintAssertion(),
      audience: apiOf(acme.research),
    }).toString()
    const headers = { ...newCaller(), 'content-type': 'application/x-www-form-urlencoded' }
    const exchanged = await app.request(`${BASE_URL}/oauth/token`, {
      method: 'POST',
      body,
      headers,
    })
    const { access_token: bearer } = await readObject(exchanged)
    const credentials = {
      'a static token': await issueStaticToken(sql, { ...issued, deploymentId: null }),
      'one of digest': await issueStaticToken(sql, { ...issued, deploymentId: acme.digest.id }),
      'one of the rival': await platform.issueToken(rival),
      'an access token': good,
      'one of another client': unbound,
      'the token of a job': mintAssertion(),
      'one for digest': mintAssertion({ aud: apiOf(acme.digest) }),
      'what it was exchanged for': String(bearer),
      'a run for digest': await identityOf(acme, apiOf(acme.digest)),
      'a run for research': await identityOf(acme, apiOf(acme.research)),
      'a run for a server': await identityOf(acme, ELSEWHERE),
      'a run of the rival': await identityOf(rival, apiOf(acme.digest)),
      'the key of the OAuth service': API_KEY,
    }
    const found: Record<string, readonly string[]> = {}
    for (const [name, credential] of Object.entries(credentials)) {
      found[name] = await opens(credential)
    }
    const ofResearch = ['API of research', 'MCP of all', 'MCP of research', 'A2A of research']
    expect(found).toEqual({
      'a static token': ['API of research', 'API of digest', ...ofResearch.slice(1)],
      'one of digest': ['API of digest', 'MCP of all'],
      'one of the rival': ["API of the rival's research", 'MCP of all'],
      'an access token': ofResearch,
      'one of another client': [],
      'the token of a job': ['exchange for research'],
      'one for digest': [],
      'what it was exchanged for': ofResearch,
      'a run for digest': ['exchange for digest'],
      'a run for research': [],
      'a run for a server': [],
      'a run of the rival': [],
      'the key of the OAuth service': ['OAuth service'],
    })
  })
})

describe('an assertion', () => {
  it('is used up, also where another door refused it before', async () => {
    const { acme } = platform
    const given = await identityOf(acme, apiOf(acme.digest))
    expect(await exchangeFor(acme.research)(given)).toBe(400)
    expect(await readAt(acme.digest)(given)).toBe(401)
    expect(await exchangeFor(acme.digest)(given)).toBe(200)
    expect(await exchangeFor(acme.digest)(given)).toBe(400)
  })

  it('has parts of its own: none passes with those of another one', async () => {
    const { acme } = platform
    const [ours, theirs] = [mintAssertion(), await identityOf(acme, apiOf(acme.digest))]
    const later = await identityOf(acme, apiOf(acme.digest))
    const pairs = [
      [ours, theirs],
      [theirs, ours],
      [theirs, later],
    ] as const
    for (const [one, other] of pairs) {
      const [a, b] = [one.split('.'), other.split('.')]
      for (const swapped of [0, 1, 2].map((at) =>
        a.map((part, n) => (n === at ? b[n] : part)).join('.'),
      )) {
        if (swapped === one || swapped === other) continue
        expect(await opens(swapped), swapped).toEqual([])
      }
    }
  })

  it('of one issuer is not taken by the rule of another, whatever it says of itself', async () => {
    const { acme } = platform
    const own = await identityOf(acme, apiOf(acme.digest))
    const [, payload = ''] = own.split('.')
    const claims: object = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const digest = { aud: apiOf(acme.digest) }
    const mixed = [
      // The words of our own issuer under the key of the other one, and the other way round.
      signToken({ alg: 'RS256', kid: 'key-1' }, claims, key),
      mintAssertion({ ...claims, iss: idp.issuer }),
      mintAssertion({ ...digest, iss: oauth.url }),
      mintAssertion({ ...digest, iss: [oauth.url, idp.issuer] }),
      mintAssertion({ iss: `${oauth.url}/` }),
    ]
    for (const each of mixed) expect(await opens(each)).toEqual([])
  })
})
