import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import { explainToken } from '../../../../../services/web/gate/access-token/explain-token.ts'
import { createKeyStore } from '../../../../../services/web/gate/access-token/key-store.ts'
import { createSigningKey, signToken, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer, SigningKey } from '../../../../support/key-server.ts'
import { BASE_URL, readObject } from '../../support/platform.ts'
import {
  bind,
  CLIENT,
  configure,
  openPlatformWithOauth,
  goodClaims,
  newCaller,
  SCOPE,
  settingsFor,
} from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { DISCLOSED, UNDISCLOSED } from './hostile-tokens.ts'
import type { HostileRow, HostileStage } from './hostile-tokens.ts'
import { few, firstOfEach } from '../../../../support/long.ts'
import { guardFor } from '../../../../support/outgoing.ts'

let oauth: PlatformWithOauth
let attacker: SigningKey
let attackersIdp: KeyServer
let bare: SigningKey
let canary: Server
let canaryUrl: string
let canaryHits = 0

beforeAll(async () => {
  attacker = createSigningKey('key-1')
  attackersIdp = await startKeyServer([attacker])
  oauth = await openPlatformWithOauth([attackersIdp.issuer])
  // As Entra publishes them: without an algorithm.
  bare = createSigningKey('bare', { kind: 'ec' })
  oauth.idp.publishKeys(oauth.key, bare)
  canary = createServer((_, response) => {
    canaryHits += 1
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(canary, 'listening')
  canaryUrl = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/keys`
  await configure(oauth.platform, oauth.rival, settingsFor(attackersIdp.issuer))
  await bind(oauth.platform, oauth.rival, CLIENT)
  expect((await call(oauth.token())).status).toBe(200)
})

afterAll(async () => {
  canary.close()
  await attackersIdp.stop()
  await oauth.close()
})

async function call(token: string, automation = oauth.acme.research) {
  oauth.lines.length = 0
  const asked = oauth.idp.paths.length
  const response = await fetch(oauth.api('inputs', automation), { headers: newCaller(token) })
  const body = await readObject(response)
  const [line] = oauth.lines.filter(({ msg }) => msg === 'request')
  return {
    status: response.status,
    body,
    challenge: response.headers.get('www-authenticate'),
    reason: line?.['auth_refused'],
    fetches: oauth.idp.paths.length - asked,
  }
}

type Row = readonly [what: string, reason: string, make: () => string]

const now = () => Math.floor(Date.now() / 1000)
const claims = (changes: Record<string, unknown> = {}) => ({
  ...goodClaims(oauth.idp.issuer),
  ...changes,
})
const withClaims = (changes: Record<string, unknown>) => () => oauth.token(changes)
const withHeader = (header: Record<string, unknown>) => () => oauth.token({}, header)

const stage = (): HostileStage => ({
  key: oauth.key,
  issuer: oauth.idp.issuer,
  audience: BASE_URL,
  claims,
  token: oauth.token,
  attacker,
  attackersIssuer: attackersIdp.issuer,
  canaryUrl,
})
const staged = ([what, reason, make]: HostileRow): Row => [what, reason, () => make(stage())]

/**
 * Refused before the signature is looked at, or because of it: the caller learns nothing but
 * `invalid_token`.
 */
const undisclosed = UNDISCLOSED.map(staged)

/** Refused although the signature holds: the bearer is told why. */
const disclosed: readonly Row[] = [
  ...DISCLOSED.map(staged),
  ['J17 no client claim', 'missing_client_claim', withClaims({ cid: undefined })],
  ['J17 appid only', 'missing_client_claim', withClaims({ cid: undefined, appid: CLIENT })],
  ['J17 clientId only', 'missing_client_claim', withClaims({ cid: undefined, clientId: CLIENT })],
  ...(
    [
      ['', 'empty'],
      ['  ', 'spaces'],
      [[CLIENT], 'an array'],
      [1, 'a number'],
      [{ a: 1 }, 'an object'],
      [null, 'null'],
      [true, 'true'],
      ['c'.repeat(256), 'too long'],
    ] as const
  ).map(([cid, what]): Row => [`J18 cid ${what}`, 'invalid_client_claim', withClaims({ cid })]),
  ['J18 a bad client_id before a good cid', 'invalid_client_claim', withClaims({ client_id: '' })],
  ['J18 a null azp beside a good cid', 'invalid_client_claim', withClaims({ azp: null })],
  [
    'J19 client_id right, cid not',
    'client_claim_conflict',
    withClaims({ client_id: CLIENT, cid: 'x' }),
  ],
  [
    'J19 client_id right, azp not',
    'client_claim_conflict',
    withClaims({ client_id: CLIENT, azp: 'x' }),
  ],
  [
    'J19 azp right, client_id not',
    'client_claim_conflict',
    withClaims({ client_id: 'x', azp: CLIENT }),
  ],
  ...(
    [
      ['CRM-CLIENT', 'in capitals'],
      ['crm-client ', 'with a space'],
      [' crm-client', 'after a space'],
      ['crm\u2010client', 'with a look-alike'],
      ['crm-client\u200b', 'with a zero-width space'],
      ['crm-clien\u0074\u0301', 'with a combining mark'],
      ['crm-clien', 'cut'],
      ['x', 'of another'],
    ] as const
  ).map(([cid, what]): Row => [`J20 client ${what}`, 'client_mismatch', withClaims({ cid })]),
  [
    'J24 the token of a person at another client',
    'client_mismatch',
    withClaims({ sub: 'ada', cid: 'spa' }),
  ],
]

const scopeless: readonly [what: string, changes: Record<string, unknown>][] = [
  ['absent', { scp: undefined }],
  ['null', { scp: null }],
  ['a number', { scp: 1 }],
  ['empty', { scp: [] }],
  ['another', { scp: ['other'] }],
  ['a longer one', { scp: ['platform_automations2'] }],
  ['a longer one in a text', { scp: 'platform_automations_x' }],
  ['a prefixed one', { scp: ['x:platform_automations'] }],
  ['joined by a comma', { scp: undefined, scope: 'openid,platform_automations' }],
  ['joined by a tab', { scp: undefined, scope: 'openid\tplatform_automations' }],
  ['in capitals', { scp: [SCOPE.toUpperCase()] }],
  ['two in one element', { scp: ['openid platform_automations'] }],
  ['ours beside a number', { scp: [SCOPE, 1] }],
  ['in an object', { scp: { 0: SCOPE } }],
  ['in scp but not in scope', { scope: 'openid' }],
  ['in scope but not in scp', { scope: SCOPE, scp: ['openid'] }],
  ['in roles, which are not asked for', { scp: undefined, roles: [SCOPE] }],
]

describe('hostile tokens (SPEC 5.2, 5.3, 7)', () => {
  it.each(undisclosed)(
    '%s: 401, %s in the log, nothing for the caller',
    async (_, reason, make) => {
      const token = make()
      const before = canaryHits
      const { status, body, challenge, ...rest } = await call(token)
      expect({ status, reason: rest.reason }).toEqual({ status: 401, reason })
      expect(body).toMatchObject({ error: 'invalid_token', status: 401 })
      expect(body).not.toHaveProperty('details')
      expect(challenge).toMatch(
        /^Bearer realm="platform", error="invalid_token", resource_metadata=/,
      )
      expect(canaryHits).toBe(before)
      // An unknown key is looked for again, once in 30 s at the most.
      if (reason !== 'unknown_key') expect(rest.fetches).toBe(0)
      expect(JSON.stringify([body, oauth.lines])).not.toContain(token.slice(-40))
    },
  )

  it.each(disclosed)('%s: 401 and %s', async (_, reason, make) => {
    const { status, body, challenge, ...rest } = await call(make())
    expect({ status, reason: rest.reason, fetches: rest.fetches }).toEqual({
      status: 401,
      reason,
      fetches: 0,
    })
    expect(body).toMatchObject({ error: 'invalid_token', details: { reason } })
    expect(challenge).toMatch(
      /error="invalid_token", error_description="[^"]+", resource_metadata=/,
    )
  })

  it.each(scopeless)('J22 scope %s: 403 insufficient_scope', async (_, changes) => {
    const { status, body, challenge, reason, fetches } = await call(oauth.token(changes))
    expect({ status, reason, fetches }).toEqual({
      status: 403,
      reason: 'insufficient_scope',
      fetches: 0,
    })
    expect(body).toMatchObject({ error: 'insufficient_scope', status: 403 })
    expect(challenge).toContain(`error="insufficient_scope"`)
    expect(challenge).toContain(`scope="${SCOPE}"`)
  })

  const good: readonly (readonly [what: string, make: () => string])[] = [
    [
      'J3 ES256 with a key that names no algorithm',
      () => signToken({ alg: 'ES256', kid: 'bare' }, claims(), bare),
    ],
    ['J6 no kid, two keys in the set', withHeader({ kid: undefined })],
    ['J12 exp 20 s ago', () => oauth.token({ iat: now() - 600, exp: now() - 20 })],
    ['J12 exp now', () => oauth.token({ iat: now() - 600, exp: now() })],
    ['J13 nbf in 20 s', () => oauth.token({ nbf: now() + 20 })],
    ['J14 ours among others', withClaims({ aud: ['https://other.test', BASE_URL] })],
    ['J19 all three claims, and the same', withClaims({ client_id: CLIENT, azp: CLIENT })],
    ['J22 scope as text', withClaims({ scp: undefined, scope: `openid ${SCOPE}` })],
    ['J22 scope twice', withClaims({ scp: undefined, scope: `${SCOPE} ${SCOPE}` })],
    ['J22 scp as text', withClaims({ scp: `openid ${SCOPE}` })],
    ['J22 scope and scp, both with it', withClaims({ scope: SCOPE })],
    ['J23 typ absent', withHeader({ typ: undefined })],
    ['J23 typ AT+JWT', withHeader({ typ: 'AT+JWT' })],
    ['J23 typ application/at+jwt', withHeader({ typ: 'application/at+jwt' })],
    ['J23 payload typ Bearer, as Keycloak', withClaims({ typ: 'Bearer' })],
    ['J23 token_use access, as Cognito', withClaims({ token_use: 'access' })],
    ['J24 the token of a person at the bound client', withClaims({ sub: 'ada' })],
  ]
  it.each(good)('%s is accepted', async (_, make) => {
    expect(await call(make())).toMatchObject({ status: 200, fetches: 0 })
  })

  it('a row of each reason has the same status at the addresses of MCP', async () => {
    const { sql, rival, service } = oauth
    const alone = (internal: boolean) =>
      sql`update organizations set internal = ${internal} where id = ${rival.organizationId}`
    const statusAt = async (url: string, token: string): Promise<number> => {
      const headers = { ...newCaller(token), 'content-type': 'application/json' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      return (await fetch(url, { method: 'POST', body, headers })).status
    }
    const rows = firstOfEach([...undisclosed, ...disclosed], ([, reason]) => reason)
    const refused = rows.map(([, , make]) => [401, make] as const)
    const unscoped = few(scopeless, 2).map(([, changes]) => [403, withClaims(changes)] as const)
    const accepted = few(good, 2).map(([, make]) => [200, make] as const)
    await alone(true)
    for (const [status, make] of [...refused, ...unscoped, ...accepted]) {
      const token = make()
      const seen = [
        await statusAt(`${service.url}/mcp`, token),
        await statusAt(oauth.api('mcp'), token),
      ]
      expect(seen, token).toEqual([status, status])
    }
    await alone(false)
  })

  it('J21 an automation without a client accepts no client, not even "" (SPEC 5.3.4)', async () => {
    const unbound = await call(oauth.token(), oauth.acme.digest)
    expect(unbound).toMatchObject({ status: 401, reason: 'automation_not_bound' })
    expect(unbound.body).toMatchObject({ details: { reason: 'automation_not_bound' } })
    expect(await call(oauth.token({ cid: '' }), oauth.acme.digest)).toMatchObject({
      status: 401,
      reason: 'invalid_client_claim',
    })
  })

  it('J16 settings without an issuer or an audience cannot be stored', async () => {
    for (const changes of [{ audiences: [] }, { audiences: [''] }, { issuer: '' }]) {
      const settings = settingsFor(oauth.idp.issuer, changes)
      await expect(configure(oauth.platform, oauth.acme, settings)).rejects.toThrow(
        /check constraint/,
      )
    }
  })

  it('J26 the authorization server is the one of the owner, whatever the token says', async () => {
    expect(await call(oauth.token(), oauth.rival.research)).toMatchObject({
      status: 401,
      reason: 'bad_signature',
    })
    const own = signToken({ alg: 'RS256', kid: 'key-1' }, goodClaims(attackersIdp.issuer), attacker)
    expect(await call(own, oauth.rival.research)).toMatchObject({ status: 200 })
    expect(await call(own)).toMatchObject({ status: 401, reason: 'bad_signature' })
  })

  it('J32 a token kind never falls through to the other', async () => {
    expect(await call(`pat_${'A'.repeat(43)}`)).toMatchObject({
      status: 401,
      reason: 'unknown_static_token',
    })
    const { digest } = oauth.acme
    await configure(oauth.platform, oauth.acme, settingsFor(oauth.idp.issuer, { enabled: false }))
    expect(await call(oauth.token())).toMatchObject({
      status: 401,
      reason: 'oauth_off',
      fetches: 0,
    })
    await configure(
      oauth.platform,
      oauth.acme,
      settingsFor(oauth.idp.issuer, { staticTokensAllowed: false }),
    )
    const staticToken = await oauth.issueToken(oauth.acme)
    expect(await call(staticToken, digest)).toMatchObject({
      status: 401,
      reason: 'static_tokens_off',
    })
    await configure(oauth.platform, oauth.acme, settingsFor(oauth.idp.issuer))
    expect(await call(staticToken, digest)).toMatchObject({ status: 200 })
  })

  it('J34 a missing automation and an unbound one look the same before the signature', async () => {
    const forged = signToken({ alg: 'RS256', kid: 'key-1' }, claims(), attacker)
    const { body: known } = await call(forged)
    for (const automationId of ['00000000-0000-4000-8000-000000000000', '%00', 'nonsense']) {
      const { status, body } = await call(forged, { ...oauth.acme.research, automationId })
      expect(status).toBe(401)
      expect({ ...body, request_id: '' }).toEqual({ ...known, request_id: '' })
    }
    const automationId = oauth.acme.research.automationId.toUpperCase()
    expect(await call(oauth.token(), { ...oauth.acme.research, automationId })).toMatchObject({
      status: 200,
    })
  })

  it('J35 a kickoff of another automation is not found', async () => {
    await bind(oauth.platform, oauth.rival, CLIENT)
    const headers = { ...newCaller(oauth.token()), 'content-type': 'application/json' }
    const body = JSON.stringify({ inputs: { topic: 'x' } })
    const started = await fetch(oauth.api('kickoff'), { method: 'POST', headers, body })
    const { kickoff_id: id } = await readObject(started)
    const own = signToken({ alg: 'RS256', kid: 'key-1' }, goodClaims(attackersIdp.issuer), attacker)
    const path = `status/${String(id)}`
    const foreign = await fetch(oauth.api(path, oauth.rival.research), { headers: newCaller(own) })
    expect(foreign.status).toBe(404)
    expect((await fetch(oauth.api(path), { headers: newCaller(oauth.token()) })).status).toBe(200)
  })
})

describe('the explain tool', () => {
  it('comes to the same reason as the API for each hostile token', async () => {
    const log = createLog({ name: 'test', level: 'silent' })
    const guard = guardFor(oauth.idp.issuer)
    const keys = createKeyStore({ guard, staleMs: 0, log, now: Date.now })
    const context = {
      organizationId: 1,
      settings: settingsFor(oauth.idp.issuer),
      boundClient: CLIENT,
    }
    for (const [what, reason, make] of [...undisclosed, ...disclosed]) {
      const explanation = await explainToken(make(), context, { keys, now: Date.now })
      expect([what, explanation.reason]).toEqual([what, reason])
    }
    const { reason, rules } = await explainToken(oauth.token(), context, { keys, now: Date.now })
    expect(reason).toBeUndefined()
    expect(rules.length).toBeGreaterThan(15)
  })
})

describe('the Authorization header on the wire (SPEC 4.4)', () => {
  async function send(...lines: string[]): Promise<string> {
    const socket = connect(Number(new URL(oauth.service.url).port), '127.0.0.1')
    socket.on('error', () => {})
    const { 'x-forwarded-for': caller } = newCaller()
    const path = new URL(oauth.api('inputs')).pathname
    const head = [
      `GET ${path}?access_token=x HTTP/1.1`,
      'Host: a',
      'Connection: close',
      `X-Forwarded-For: ${caller}`,
    ]
    socket.write(`${[...head, ...lines].join('\r\n')}\r\n\r\n`)
    return (await text(socket)).slice(9, 12)
  }

  it('J31 counts once, in any case, after one space or more', async () => {
    const token = oauth.token()
    expect(await send(`Authorization: Bearer ${token}`)).toBe('200')
    expect(await send(`authorization: bearer  ${token}`)).toBe('200')
    expect(await send(`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`)).toBe(
      '401',
    )
    expect(await send(`Authorization: Bearer ${token}, Bearer ${token}`)).toBe('401')
    expect(await send(`Authorization: Bearer\t${token}`)).toBe('401')
    expect(await send('Authorization: Bearer')).toBe('401')
    expect(await send()).toBe('401')
  })

  it('J9, J10 refuses what is too long, and white space inside', async () => {
    const token = oauth.token()
    expect(await send(`Authorization: Bearer ${'a'.repeat(8193)}`)).toBe('401')
    expect(await send(`Authorization: Bearer ${oauth.token({ pad: 'x'.repeat(9000) })}`)).toBe(
      '401',
    )
    expect(await send(`Authorization: Bearer ${'a.'.repeat(7000)}`)).toBe('401')
    expect(await send(`Authorization: Bearer ${'a'.repeat(20_000)}`)).toBe('431')
    expect(await send(`Authorization: Bearer ${token.slice(0, -9)} ${token.slice(-9)}`)).toBe('401')
    expect(await send(`Authorization: Bearer ${token.slice(0, -9)}\t${token.slice(-9)}`)).toBe(
      '401',
    )
  })
})
