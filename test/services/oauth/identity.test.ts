import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../services/platform/automations/automations.ts'
import { listIdentityTokens } from '../../../services/platform/connections/identity-tokens.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { start } from '../../../services/oauth/start.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { isLong } from '../../support/long.ts'
import { deployAutomation } from '../../support/platform.ts'
import { createDatabase } from '../../support/postgres.ts'
import { API_KEY, ENCRYPTION_KEY, PUBLIC_URL } from './platform.ts'

const AUDIENCE = 'https://mcp.example.com'
const IDENTITY = {
  provider: 'identity',
  kind: 'identity',
  audience: AUDIENCE,
  hosts: ['mcp.example.com'],
}

let database: Awaited<ReturnType<typeof createDatabase>>
let sql: Database
let service: Service
let acme: number
let rival: number
let automation: Automation
let connectionId: string
const lines: string[] = []
const started: Service[] = []

async function startService(extra: Record<string, string> = {}): Promise<Service> {
  const log = createLog({
    name: 'oauth',
    level: 'debug',
    destination: { write: (line: string) => void lines.push(line) },
  })
  const environment = {
    DATABASE_URL: database.url,
    PORT: '0',
    HOST: '127.0.0.1',
    PLATFORM_OAUTH_API_KEY: API_KEY,
    OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
    OAUTH_PUBLIC_URL: PUBLIC_URL,
    ...extra,
  }
  const opened = await start(environment, { log, lingerMs: 0 })
  started.push(opened)
  return opened
}

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  service = await startService()
  acme = (await ensureOrganization(sql, { name: 'acme' })).id
  rival = (await ensureOrganization(sql, { name: 'rival' })).id
  automation = await deployAutomation(sql, acme, { slug: 'research' })
  const { body } = await create(IDENTITY)
  connectionId = String(body['connection_id'])
})
beforeEach(async () => {
  await sql`delete from executions`
})
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()))
  await sql.end()
  await database.drop()
})

async function post(path: string, body?: object, at = service) {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${API_KEY}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body ? JSON.stringify(body) : null,
  })
  const answer = (await response.json()) as Record<string, unknown>
  return { status: response.status, body: answer }
}

const create = (fields: object, name = 'mcp') =>
  post(`/organizations/${acme}/connections`, { ...fields, name })

async function startRun(of = automation): Promise<string> {
  const id = await kickoff(sql, { deploymentId: of.id, inputs: { topic: 'tides' } })
  await sql`
    update executions set status = 'running', lease_id = gen_random_uuid(),
      lease_expires_at = now() + interval '1 minute' where id = ${id}`
  return id
}

const tokenFor = (runId?: string, at = service) =>
  post(
    `/connections/${connectionId}/token`,
    runId === undefined ? undefined : { kickoff_id: runId },
    at,
  )

async function readKeys(at = service): Promise<JSONWebKeySet> {
  const found = await fetch(`${at.url}/.well-known/openid-configuration`)
  const metadata = (await found.json()) as Record<string, unknown>
  expect(metadata).toMatchObject({ issuer: PUBLIC_URL, jwks_uri: `${PUBLIC_URL}/identity/keys` })
  return (await (await fetch(`${at.url}/identity/keys`)).json()) as JSONWebKeySet
}

const kidOf = (answer: { readonly body: Record<string, unknown> }) =>
  decodeProtectedHeader(String(answer.body['access_token'])).kid

describe('the identity of a run', () => {
  it('says who the run is, to one audience, for ten minutes', async () => {
    const runId = await startRun()
    const { status, body } = await tokenFor(runId)
    expect(status).toBe(200)
    expect(body).toMatchObject({ header: 'authorization', prefix: 'Bearer', hosts: IDENTITY.hosts })
    const token = String(body['access_token'])
    const options = { issuer: PUBLIC_URL, audience: AUDIENCE, algorithms: ['RS256'] }
    const { payload } = await jwtVerify(token, createLocalJWKSet(await readKeys()), options)
    const { automationId } = automation
    expect(payload).toMatchObject({
      sub: `organization:${acme}:automation:${automationId}:version:1:run:${runId}`,
      aud: AUDIENCE,
      organization_id: String(acme),
      automation_id: automationId,
      automation: 'research',
      version: '1',
      kickoff_id: runId,
    })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600)
    expect(await listIdentityTokens(sql, runId)).toMatchObject([
      { id: payload.jti, connection: 'mcp', audience: AUDIENCE },
    ])
    const [entry] = await sql`select * from audit_entries order by id desc limit 1`
    expect(entry).toMatchObject({ action: 'connection_identity_issued', organizationId: acme })
    const [, , signature = ''] = token.split('.')
    expect(JSON.stringify([entry, lines])).not.toContain(signature)
  })

  it('is refused before the run is taken, once it has ended, and for a run of others', async () => {
    const queued = await kickoff(sql, { deploymentId: automation.id, inputs: {} })
    const runId = await startRun()
    expect((await tokenFor(runId)).status).toBe(200)
    await sql`
      update executions set status = 'stopped', finished_at = now(), lease_id = null,
        lease_expires_at = null where id = ${runId}`
    const foreign = await startRun(await deployAutomation(sql, rival, { slug: 'theirs' }))
    for (const id of [queued, runId, foreign, '00000000-0000-4000-8000-000000000000']) {
      expect(await tokenFor(id)).toMatchObject({
        status: 409,
        body: { details: { code: 'run_not_running' } },
      })
    }
    expect((await tokenFor('not an id')).status).toBe(422)
  })

  it('is that of the organization where no run asks, as for a look at the tools', async () => {
    const { body } = await tokenFor()
    const { payload } = await jwtVerify(
      String(body['access_token']),
      createLocalJWKSet(await readKeys()),
    )
    expect(payload).toMatchObject({ sub: `organization:${acme}`, aud: AUDIENCE })
    expect(payload).not.toHaveProperty('kickoff_id')
  })
})

describe('the keys of identities', () => {
  beforeEach(() => sql`delete from identity_keys`)

  const age = (interval: string) =>
    sql`update identity_keys set created_at = created_at - ${interval}::interval`

  it('rotate with overlap: a new one is published before it signs, an old one after', async () => {
    const runId = await startRun()
    const first = kidOf(await tokenFor(runId))
    await age('31 days')
    expect(kidOf(await tokenFor(runId))).toBe(first)
    const kids = (await readKeys()).keys.map(({ kid }) => kid)
    expect(kids).toHaveLength(2)
    await age('1 hour')
    const second = kidOf(await tokenFor(runId))
    expect(second).not.toBe(first)
    expect(kids).toContain(second)
    expect((await readKeys()).keys).toHaveLength(2)
    await age('2 days')
    expect((await readKeys()).keys.map(({ kid }) => kid)).toEqual([second])
  })

  it('rotate under load: receivers that read them once an hour refuse none', async () => {
    const replicas = [service, await startService()]
    const runId = await startRun()
    const isGood = (token: string, keys: JSONWebKeySet): Promise<boolean> =>
      jwtVerify(token, createLocalJWKSet(keys), { issuer: PUBLIC_URL, audience: AUDIENCE }).then(
        () => true,
        () => false,
      )
    const signed = new Map<string, string>()
    const refused: string[] = []
    await tokenFor(runId)
    for (let rotation = 0; rotation < (isLong ? 4 : 2); rotation += 1) {
      await age('29 days 23 hours')
      for (let step = 0; step < 8; step += 1) {
        const fetched = await readKeys()
        // The clock goes on while tokens are asked for, by less than an hour in all.
        const asked = Array.from({ length: isLong ? 8 : 4 }, (_, at) =>
          tokenFor(runId, replicas[at % 2]),
        )
        const [answers] = await Promise.all([Promise.all(asked), age('25 minutes')])
        const later = await age('30 minutes').then(() => readKeys())
        for (const answer of answers) {
          const token = String(answer.body['access_token'])
          signed.set(kidOf(answer) ?? '', token)
          if (!(await isGood(token, fetched)) || !(await isGood(token, later))) refused.push(token)
        }
      }
      await age('2 days')
    }
    expect(refused).toEqual([])
    expect(signed.size).toBeGreaterThan(2)
    const present = await readKeys()
    const published = present.keys.map(({ kid }) => kid)
    for (const [kid, token] of signed) {
      expect(await isGood(token, present)).toBe(published.includes(kid))
    }
    expect([...signed.keys()].some((kid) => !published.includes(kid))).toBe(true)
  }, 300_000)

  it('that leaked are given up by their row, which receivers read within a minute', async () => {
    const runId = await startRun()
    const leaked = String((await tokenFor(runId)).body['access_token'])
    await sql`delete from identity_keys where kid = ${decodeProtectedHeader(leaked).kid ?? ''}`
    const response = await fetch(`${service.url}/identity/keys`)
    expect(response.headers.get('cache-control')).toBe('public, max-age=60')
    const keys = (await response.json()) as JSONWebKeySet
    await expect(jwtVerify(leaked, createLocalJWKSet(keys))).rejects.toThrow('no applicable key')
    const next = String((await tokenFor(runId)).body['access_token'])
    await expect(jwtVerify(next, createLocalJWKSet(await readKeys()))).resolves.toBeDefined()
  })

  it('are published without their private parts, and sealed at rest', async () => {
    const runId = await startRun()
    await tokenFor(runId)
    for (const key of (await readKeys()).keys) {
      expect(Object.keys(key)).toEqual(expect.arrayContaining(['n', 'e']))
      expect(Object.keys(key)).not.toContain('d')
    }
    const [row] = await sql<{ sealedKey: Buffer }[]>`select sealed_key from identity_keys`
    expect(row?.sealedKey.toString('latin1')).not.toContain('PRIVATE KEY')
  })

  it('are opened with the former text while that is replaced, and made anew without', async () => {
    const runId = await startRun()
    const kid = kidOf(await tokenFor(runId))
    const next = { OAUTH_ENCRYPTION_KEY: `another-${ENCRYPTION_KEY}` }
    const replaced = await startService({ ...next, OAUTH_ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY })
    expect(kidOf(await tokenFor(runId, replaced))).toBe(kid)
    expect(kidOf(await tokenFor(runId, await startService(next)))).toBe(kid)
    const lost = await startService({ OAUTH_ENCRYPTION_KEY: `lost-${ENCRYPTION_KEY}` })
    const made = kidOf(await tokenFor(runId, lost))
    expect(made).not.toBe(kid)
    for (const at of [service, lost, service, lost]) await readKeys(at)
    expect(kidOf(await tokenFor(runId, lost))).toBe(made)
    expect((await readKeys()).keys).toHaveLength(2)
  })
})

describe('a connection of the kind identity', () => {
  it.each<[string, object, string]>([
    ['no audience', { audience: undefined }, 'audience is required'],
    ['no places', { hosts: [] }, 'hosts is required'],
    ['a token of its own', { token: 'x' }, 'token does not belong'],
    ['a client', { client_id: 'x' }, 'client_id does not belong'],
  ])('has no %s', async (_, changes, message) => {
    const { status, body } = await create({ ...IDENTITY, ...changes }, 'other')
    expect({ status, message: body['message'] }).toEqual({
      status: 422,
      message: expect.stringContaining(message),
    })
  })

  it('alone has an audience', async () => {
    const token = { provider: 'token', kind: 'static_token', token: 'x', audience: AUDIENCE }
    expect((await create(token, 'other')).status).toBe(422)
  })
})
