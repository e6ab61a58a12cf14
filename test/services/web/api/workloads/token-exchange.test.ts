import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { saveAutomationOauth } from '../../../../../services/platform/automations/automation-oauth.ts'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../../services/platform/automations/token-limits.ts'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import {
  createWorkloadRule,
  deleteWorkloadRule,
  listIssuingRules,
  pauseWorkloadRule,
  resumeWorkloadRule,
  updateWorkloadRule,
} from '../../../../../services/platform/workloads/workload-rules.ts'
import type { WorkloadRuleFields } from '../../../../../services/platform/workloads/workload-rules.ts'
import {
  deleteEndedWorkloadTokens,
  issueWorkloadToken,
} from '../../../../../services/platform/workloads/workload-tokens.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { explainToken } from '../../../../../services/web/gate/access-token/explain-token.ts'
import { createKeyStore } from '../../../../../services/web/gate/access-token/key-store.ts'
import { workloadContext } from '../../../../../services/web/gate/access-token/workload-rules.ts'
import { createSigningKey, signToken, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer, SigningKey } from '../../../../support/key-server.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { DISCLOSED, UNDISCLOSED } from '../../gate/access-token/hostile-tokens.ts'
import type { HostileStage } from '../../gate/access-token/hostile-tokens.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { newCaller, settingsFor } from '../../support/platform-with-oauth.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT = 'urn:ietf:params:oauth:token-type:jwt'
const SUB = 'repo:acme/site:ref:refs/heads/main'

let platform: Platform
let key: SigningKey
let attacker: SigningKey
let idp: KeyServer
let attackersIdp: KeyServer
let app: Platform['app']

/** Another process of the platform, which has fetched no keys. */
const newApp = () =>
  platform.appAt(BASE_URL, {
    TRUSTED_PROXIES: '1',
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: [idp.issuer, attackersIdp.issuer].join(','),
  })

beforeAll(async () => {
  key = createSigningKey('key-1')
  attacker = createSigningKey('key-1')
  ;[idp, attackersIdp] = await Promise.all([startKeyServer([key]), startKeyServer([attacker])])
  platform = await openPlatform()
  app = newApp()
})
beforeEach(async () => {
  await platform.sql`delete from workload_rules`
})
afterAll(async () => {
  await Promise.all([idp.stop(), attackersIdp.stop(), platform.close()])
})

const apiOf = ({ automationId }: Automation) => `${BASE_URL}/platform/api/v1/crew/${automationId}`
const now = () => Math.floor(Date.now() / 1000)
let count = 0
const claims = (changes: Record<string, unknown> = {}) => ({
  iss: idp.issuer,
  aud: apiOf(platform.acme.research),
  sub: SUB,
  repository: 'acme/site',
  cid: 'site',
  jti: String((count += 1)),
  iat: now(),
  exp: now() + 300,
  ...changes,
})
const token = (changes: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  signToken({ alg: 'RS256', kid: 'key-1', typ: 'JWT', ...header }, claims(changes), key)

const ruleFields = (changes: Partial<WorkloadRuleFields> = {}): WorkloadRuleFields => ({
  name: 'Site',
  issuer: idp.issuer,
  jwksUrl: null,
  claims: { sub: 'repo:acme/site:*', repository: 'acme/site' },
  scopes: ['kickoff', 'read'],
  minutes: 15,
  isReusable: false,
  ...changes,
})
const makeRule = (changes: Partial<WorkloadRuleFields> = {}, at = platform.acme.research) =>
  createWorkloadRule(platform.sql, at.id, ruleFields(changes))

async function post(fields: Record<string, string> | string, to = app) {
  platform.lines.length = 0
  const body = typeof fields === 'string' ? fields : new URLSearchParams(fields).toString()
  const headers = { ...newCaller(), 'content-type': 'application/x-www-form-urlencoded' }
  const response = await to.request(`${BASE_URL}/oauth/token`, { method: 'POST', body, headers })
  const answer = await readObject(response)
  const [line] = platform.lines.filter(({ msg }) => msg === 'request')
  return {
    status: response.status,
    headers: response.headers,
    reason: line?.['auth_refused'],
    answer,
  }
}

const fieldsFor = (subjectToken: string, changes: Record<string, string> = {}) => ({
  grant_type: GRANT,
  subject_token_type: JWT,
  subject_token: subjectToken,
  audience: apiOf(platform.acme.research),
  ...changes,
})
const exchange = (subjectToken: string, changes: Record<string, string> = {}, to = app) =>
  post(fieldsFor(subjectToken, changes), to)
const exchanged = async (changes: Record<string, string> = {}): Promise<string> =>
  String((await exchange(token(), changes)).answer['access_token'])

async function call(bearer: string, path = 'inputs', at = platform.acme.research) {
  const headers = { ...newCaller(bearer), 'content-type': 'application/json' }
  const started = { method: 'POST', body: JSON.stringify({ inputs: { topic: 'tides' } }) }
  const sent = { ...(path === 'kickoff' ? started : {}), headers }
  const response = await app.request(`${apiOf(at)}/${path}`, sent)
  return { status: response.status, body: await readObject(response) }
}

const REFUSED = { status: 400, answer: { error: 'invalid_request' } }
const UNTOLD = 'The subject_token is not valid for this automation.'

describe('the token of a workload', () => {
  it('becomes a bearer of minutes for one automation, which starts runs', async () => {
    const rule = await makeRule()
    const { status, headers, answer } = await exchange(token())
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('ratelimit')).toContain('"token"')
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^pwt_[\w-]{43}$/),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'kickoff read',
    })
    const bearer = String(answer['access_token'])
    const started = await call(bearer, 'kickoff')
    expect(started.status).toBe(202)
    const [run] = await platform.sql`
      select starter_id, starter_name from executions
      where id = ${String(started.body['kickoff_id'])}`
    expect(run).toEqual({
      starterId: `client:workload_rule:${rule.id}`,
      starterName: `Site (${SUB})`,
    })
    const [kept] = await platform.sql`select * from workload_tokens`
    expect(kept?.['tokenHash']).toEqual(createHash('sha256').update(bearer).digest())
    const [entry] = (await platform.audit()).slice(-1)
    expect(entry).toMatchObject({
      action: 'workload_token_issued',
      targetId: rule.id,
      organizationId: platform.acme.organizationId,
    })
    expect(JSON.stringify([entry, platform.lines])).not.toContain(bearer.slice(4))
  })

  it('opens that automation alone, and nothing beside its API', async () => {
    await makeRule()
    const bearer = await exchanged()
    expect(await call(bearer)).toMatchObject({ status: 200 })
    expect(await call(bearer, 'inputs', platform.acme.digest)).toMatchObject({ status: 401 })
    expect(await call(bearer, 'inputs', platform.rival.research)).toMatchObject({ status: 401 })
    for (const path of ['/designer/v2/automations', '/tools/organization/simple/']) {
      const response = await app.request(BASE_URL + path, { headers: newCaller(bearer) })
      expect([path, response.status]).toEqual([path, 401])
    }
    const tools = await app.request(`${BASE_URL}/mcp`, {
      method: 'POST',
      headers: { ...newCaller(bearer), 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    const { result } = await readObject(tools)
    expect(result).toMatchObject({ tools: [{ name: platform.acme.research.slug }] })
  })

  it('gets the scopes that the rule gives, or those of them that it asks for', async () => {
    await makeRule({ name: 'Reads', scopes: ['read'] })
    expect((await exchange(token())).answer).toMatchObject({ scope: 'read' })
    const lesser = await exchanged()
    expect(await call(lesser)).toMatchObject({ status: 200 })
    expect(await call(lesser, 'kickoff')).toMatchObject({
      status: 403,
      body: { error: 'insufficient_scope' },
    })
    expect(await exchange(token(), { scope: 'kickoff' })).toMatchObject({
      status: 400,
      answer: { error: 'invalid_scope' },
    })
    await makeRule({ name: 'Starts', scopes: ['kickoff'] })
    expect((await exchange(token(), { scope: 'kickoff' })).answer).toMatchObject({
      scope: 'kickoff',
    })
  })

  it('is exchanged also where the organization takes no static tokens', async () => {
    await makeRule()
    const settings = settingsFor(idp.issuer, { staticTokensAllowed: false })
    await saveAutomationOauth(platform.sql, platform.acme.organizationId, settings)
    expect(await call(await exchanged())).toMatchObject({ status: 200 })
    await platform.sql`delete from automation_oauth`
  })
})

describe('what is no request of RFC 8693', () => {
  it.each<[string, Record<string, string>, string]>([
    ['another grant', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['no grant', { grant_type: '' }, 'invalid_request'],
    ['no token', { subject_token: '' }, 'invalid_request'],
    ['a SAML assertion', { subject_token_type: `${JWT.slice(0, -3)}saml2` }, 'invalid_request'],
    [
      'a refresh token',
      { requested_token_type: `${JWT.slice(0, -3)}refresh_token` },
      'invalid_request',
    ],
    ['an actor', { actor_token: 'x', actor_token_type: JWT }, 'invalid_request'],
    ['no audience', { audience: '' }, 'invalid_target'],
    ['the platform as audience', { audience: BASE_URL }, 'invalid_target'],
    ['another resource', { resource: 'https://other.test' }, 'invalid_target'],
    ['a scope of organizations', { scope: 'design' }, 'invalid_scope'],
    ['scopes with a comma', { scope: 'kickoff,read' }, 'invalid_scope'],
  ])('%s is refused', async (_, changes, error) => {
    const { status, headers, answer } = await exchange('x', changes)
    expect({ status, error: answer['error'] }).toEqual({ status: 400, error })
    expect(answer['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('a parameter twice, JSON, and a body of any length are refused', async () => {
    const form = new URLSearchParams(fieldsFor('x')).toString()
    expect(await post(`${form}&scope=read&scope=kickoff`)).toMatchObject(REFUSED)
    expect(await post(`${form}&pad=${'x'.repeat(40_000)}`)).toMatchObject({ status: 413 })
    const sent = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
    expect((await app.request(`${BASE_URL}/oauth/token`, sent)).status).toBe(400)
    expect((await app.request(`${BASE_URL}/oauth/token`)).status).toBe(405)
  })
})

const stage = (): HostileStage => ({
  key,
  issuer: idp.issuer,
  audience: apiOf(platform.acme.research),
  claims,
  token,
  attacker,
  attackersIssuer: attackersIdp.issuer,
  canaryUrl: 'http://127.0.0.1:9/keys',
})
/** The log names no rule where none has the issuer of the token. */
const reasonOf = (what: string, reason: string) =>
  /^J15|issuer/.test(what) ? 'no_workload_rule' : reason
const HOSTILE = [...UNDISCLOSED, ...DISCLOSED]

describe('hostile tokens', () => {
  it.each(HOSTILE)('%s: refused, %s in the log, nothing for the caller', async (...row) => {
    const [what, reason, make] = row
    await makeRule()
    const given = make(stage())
    const { answer, ...rest } = await exchange(given)
    expect({ status: rest.status, reason: rest.reason }).toEqual({
      status: 400,
      reason: reasonOf(what, reason),
    })
    expect(answer).toEqual({
      error: 'invalid_request',
      error_description: expect.stringContaining(UNTOLD),
    })
    expect(JSON.stringify(platform.lines)).not.toContain(given.slice(-40))
    expect(await platform.sql`select from workload_tokens`).toHaveLength(0)
  })

  it('the explanation comes to the same reason for each', async () => {
    const log = createLog({ name: 'test', level: 'silent' })
    const guard = guardFor(idp.issuer)
    const keys = createKeyStore({ guard, staleMs: 0, log, now: Date.now })
    const audience = apiOf(platform.acme.research)
    const context = workloadContext({ ...ruleFields(), organizationId: 1, audience })
    const explain = (given: string) => explainToken(given, context, { keys, now: Date.now })
    for (const [what, reason, make] of HOSTILE) {
      expect([what, (await explain(make(stage()))).reason]).toEqual([what, reason])
    }
    const { reason, rules } = await explain(token())
    expect(reason).toBeUndefined()
    expect(rules.map(({ name }) => name)).toContain('Claim repository')
  })

  it.each<[string, Record<string, unknown>, string]>([
    [
      'a name that begins alike',
      { sub: 'repo:acme/site-evil:ref:refs/heads/main' },
      'claim_mismatch',
    ],
    ['the whole of a beginning', { sub: 'repo:acme/site:' }, 'claim_mismatch'],
    ['a sub in a list', { sub: [SUB] }, 'claim_mismatch'],
    ['a sub that is a number', { sub: 7 }, 'claim_mismatch'],
    ['no sub', { sub: undefined }, 'claim_mismatch'],
    ['a claim in another case', { repository: 'Acme/site' }, 'claim_mismatch'],
    ['a claim in a list', { repository: ['acme/site'] }, 'claim_mismatch'],
    ['null', { repository: null }, 'claim_mismatch'],
    ['the platform as audience', { aud: BASE_URL }, 'wrong_audience'],
  ])('%s is refused', async (_, changes, reason) => {
    await makeRule()
    expect(await exchange(token(changes))).toMatchObject({ ...REFUSED, reason })
  })

  it('a token for another automation, or for others as well, is refused', async () => {
    await makeRule()
    await makeRule({}, platform.acme.digest)
    const ours = apiOf(platform.acme.research)
    const other = apiOf(platform.acme.digest)
    expect(await exchange(token(), { audience: other })).toMatchObject({ reason: 'wrong_audience' })
    expect(await exchange(token({ aud: other }))).toMatchObject({ reason: 'wrong_audience' })
    for (const aud of [
      [ours, other],
      [ours, 'https://sts.test'],
      [ours, ours],
    ]) {
      expect(await exchange(token({ aud }))).toMatchObject({
        ...REFUSED,
        reason: 'other_audiences',
      })
    }
    expect(await exchange(token({ aud: [ours] }))).toMatchObject({ status: 200 })
  })

  it('no automation, one without a rule and one of others have the same answer', async () => {
    const id = '00000000-0000-4000-8000-000000000000'
    const nowhere = apiOf({ ...platform.acme.research, automationId: id })
    const { answer } = await exchange(token({ aud: nowhere }), { audience: nowhere })
    expect((await exchange(token())).answer).toEqual(answer)
    await makeRule({ issuer: attackersIdp.issuer }, platform.rival.research)
    const theirs = apiOf(platform.rival.research)
    expect((await exchange(token({ aud: theirs }), { audience: theirs })).answer).toEqual(answer)
  })

  it('an issuer of one organization opens no automation of another', async () => {
    await makeRule({ issuer: attackersIdp.issuer }, platform.rival.research)
    await makeRule()
    const forged = (changes: Record<string, unknown>) =>
      signToken({ alg: 'RS256', kid: 'key-1' }, claims(changes), attacker)
    const theirs = apiOf(platform.rival.research)
    const own = { iss: attackersIdp.issuer, aud: theirs }
    expect((await exchange(forged(own), { audience: theirs })).status).toBe(200)
    expect(await exchange(forged({ iss: attackersIdp.issuer }))).toMatchObject(REFUSED)
    expect(await exchange(forged({}))).toMatchObject({ ...REFUSED, reason: 'bad_signature' })
    expect(await exchange(token({ aud: theirs }), { audience: theirs })).toMatchObject(REFUSED)
  })
})

describe('a token of the organization that makes a rule', () => {
  it('gives no scope that it lacks, and none from where it cannot be used', async () => {
    const { sql, acme } = platform
    const { organizationId, research } = acme
    const list = `${BASE_URL}/designer/v2/automations/${research.automationId}/workload-rules`
    const make = async (scopes: readonly TokenScope[], networks: readonly string[] = []) => {
      const issued = { organizationId, deploymentId: null, name: 'CI', createdBy: null }
      const secret = await issueStaticToken(sql, { ...issued, scopes, networks })
      const response = await app.request(list, {
        method: 'POST',
        headers: { ...newCaller(secret), 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'CI', issuer: idp.issuer, claims: { sub: SUB } }),
      })
      return response.status
    }
    expect(await make(['settings', 'read'])).toBe(403)
    expect(await make(['settings', 'read', 'kickoff'], ['198.51.0.0/16'])).toBe(403)
    expect(await make(['settings', 'read', 'kickoff'])).toBe(201)
  })
})

describe('an exchange', () => {
  it('takes a token once, however often and however it is sent', async () => {
    await makeRule()
    const given = token()
    const answers = await Promise.all([1, 2, 3, 4].map(() => exchange(given)))
    const [, ...others] = answers.toSorted((one, other) => one.status - other.status)
    expect(answers.some(({ status }) => status === 200)).toBe(true)
    expect(others.map(({ status }) => status)).toEqual([400, 400, 400])
    expect(await exchange(given)).toMatchObject({
      status: 400,
      answer: { error_description: expect.stringContaining('exchanged before') },
    })
    await makeRule({ name: 'Another' })
    expect((await exchange(given)).status).toBe(400)
  })

  it('takes other signatures of the same words for what they are', async () => {
    const pair = createSigningKey('ec', { kind: 'ec' })
    idp.publishKeys(key, pair)
    await makeRule()
    const words = claims()
    const sign = () => signToken({ alg: 'ES256', kid: 'ec' }, words, pair)
    const to = newApp()
    expect((await exchange(sign(), {}, to)).status).toBe(200)
    expect((await exchange(sign(), {}, to)).status).toBe(400)
    idp.publishKeys(key)
  })

  it('takes a subject of any characters', async () => {
    await makeRule({ claims: { repository: 'acme/site' } })
    for (const sub of ['a\n', `x${'🌊'.repeat(200)}`, ['a'], undefined]) {
      expect((await exchange(token({ sub }))).status).toBe(200)
    }
    const subjects = await platform.sql`select subject from workload_tokens order by id`
    expect(subjects.map(({ subject }) => subject)).toEqual(['a\n', `x${'🌊'.repeat(99)}`, '', ''])
  })

  it('takes a token again where the rule says so', async () => {
    await makeRule({ isReusable: true })
    const given = token()
    expect((await exchange(given)).status).toBe(200)
    expect((await exchange(given)).status).toBe(200)
  })

  it('takes nothing that it has issued', async () => {
    await makeRule()
    expect(await exchange(await exchanged())).toMatchObject(REFUSED)
  })

  it('counts against the limits of the rule', async () => {
    const to = platform.appAt(BASE_URL, {
      AUTOMATION_OAUTH_PRIVATE_ORIGINS: idp.issuer,
      TOKEN_CALLS_PER_MINUTE: '1',
    })
    await makeRule()
    // A minute may end between two of them.
    const answers = [
      await exchange(token(), {}, to),
      await exchange(token(), {}, to),
      await exchange(token(), {}, to),
    ]
    const limited = answers.find(({ status }) => status === 429)
    expect(limited?.answer).toEqual({
      error: 'temporarily_unavailable',
      error_description: expect.stringContaining('with this workload rule'),
    })
    expect(limited?.headers.get('retry-after')).toMatch(/^\d+$/)
  })
})

describe('a token that was issued', () => {
  it('ends when its rule is changed, paused or deleted', async () => {
    const rule = await makeRule()
    const ends = async (change: () => Promise<unknown>, reason?: string) => {
      const bearer = await exchanged()
      expect(await call(bearer)).toMatchObject({ status: 200 })
      await change()
      const { status, body } = await call(bearer)
      const { details } = body
      expect({ status, details }).toEqual({ status: 401, details: reason && { reason } })
    }
    await ends(() => updateWorkloadRule(platform.sql, rule, ruleFields()), 'token_expired')
    await ends(() => pauseWorkloadRule(platform.sql, rule), 'token_expired')
    expect(await exchange(token())).toMatchObject({ ...REFUSED, reason: 'no_workload_rule' })
    await resumeWorkloadRule(platform.sql, rule)
    await ends(() => deleteWorkloadRule(platform.sql, rule))
  })

  it('ends by itself, and is forgotten once its assertion has ended, too', async () => {
    const { sql } = platform
    await makeRule()
    const bearer = await exchanged()
    await sql`update workload_tokens set expires_at = now()`
    expect(await call(bearer)).toMatchObject({ body: { details: { reason: 'token_expired' } } })
    expect(await deleteEndedWorkloadTokens(sql)).toBe(0)
    await sql`update workload_tokens set kept_until = now() - interval '1 second'`
    expect(await deleteEndedWorkloadTokens(sql)).toBe(1)
    expect(await call(bearer)).toMatchObject({ status: 401 })
  })

  it('is not issued by a rule that was changed since it was read', async () => {
    const { sql, acme } = platform
    const made = await makeRule()
    const [rule] = await listIssuingRules(sql, acme.research.automationId)
    if (!rule) throw new Error('no rule')
    await updateWorkloadRule(sql, made, ruleFields({ claims: { sub: 'repo:acme/other:*' } }))
    const decided = { rule, scopes: rule.scopes, subject: SUB, assertionEnds: now() }
    expect(await issueWorkloadToken(sql, { ...decided, assertion: token() })).toBeUndefined()
  })
})

describe('the issuer of a rule', () => {
  it('may rotate its keys: what one signed that is taken away is refused', async () => {
    const next = createSigningKey('key-2')
    await makeRule()
    idp.publishKeys(next)
    const to = newApp()
    const signed = signToken({ alg: 'RS256', kid: 'key-2' }, claims(), next)
    expect((await exchange(signed, {}, to)).status).toBe(200)
    expect(await exchange(token(), {}, to)).toMatchObject({ ...REFUSED, reason: 'unknown_key' })
    idp.publishKeys(key)
  })

  it('may be away: 503 with the time to wait, to tokens that name it alone', async () => {
    await makeRule()
    idp.answerWith((_, response) => response.writeHead(500).end())
    const to = newApp()
    const { status, headers, answer } = await exchange(token(), {}, to)
    expect({ status, error: answer['error'], wait: headers.get('retry-after') }).toEqual({
      status: 503,
      error: 'temporarily_unavailable',
      wait: '10',
    })
    expect(await exchange(token({ iss: attackersIdp.issuer }), {}, to)).toMatchObject(REFUSED)
    idp.answerWith()
  })
})
