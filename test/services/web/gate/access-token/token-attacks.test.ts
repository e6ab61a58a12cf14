import { createHmac } from 'node:crypto'
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
import {
  base64url,
  createSigningKey,
  signToken,
  startKeyServer,
} from '../../../../support/key-server.ts'
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
const raw = (payload: string | Buffer) => () =>
  signToken({ alg: 'RS256', kid: 'key-1' }, payload, oauth.key)
/** The JSON of the claims with this text put in front. */
const prefixed = (member: string) => () => raw(`{${member},${JSON.stringify(claims()).slice(1)}`)()

const unsigned = (alg: string) => () => `${base64url({ alg })}.${base64url(claims())}.`
const hmac = (secret: () => string | Buffer) => () => {
  const signed = `${base64url({ alg: 'HS256', kid: 'key-1' })}.${base64url(claims())}`
  return `${signed}.${createHmac('sha256', secret()).update(signed).digest('base64url')}`
}
const spki = (type: 'pem' | 'der') =>
  type === 'pem'
    ? oauth.key.publicKey.export({ format: 'pem', type: 'spki' })
    : oauth.key.publicKey.export({ format: 'der', type: 'spki' })

/** The last character of a 256-byte signature holds four bits that nobody reads. */
function flipUnusedBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(token.slice(-1))
  return token.slice(0, -1) + alphabet.charAt(last ^ 1)
}

/**
 * Refused before the signature is looked at, or because of it: the caller learns nothing but
 * `invalid_token`.
 */
const undisclosed: readonly Row[] = [
  ['J1 alg none', 'malformed_token', unsigned('none')],
  ['J1 alg None', 'malformed_token', unsigned('None')],
  ['J1 alg nOnE', 'malformed_token', unsigned('nOnE')],
  ['J1 alg none with a signature', 'algorithm_not_allowed', withHeader({ alg: 'none' })],
  ['J2 HMAC with the public key as PEM', 'algorithm_not_allowed', hmac(() => spki('pem'))],
  ['J2 HMAC with the public key as DER', 'algorithm_not_allowed', hmac(() => spki('der'))],
  [
    'J2 HMAC with the public key as JWK',
    'algorithm_not_allowed',
    hmac(() => JSON.stringify(oauth.key.jwk)),
  ],
  ['J3 PS256 over an RS256 signature', 'bad_signature', withHeader({ alg: 'PS256' })],
  ['J3 ES256 with the id of an RSA key', 'unknown_key', withHeader({ alg: 'ES256' })],
  ['J3 EdDSA with the id of an RSA key', 'unknown_key', withHeader({ alg: 'EdDSA' })],
  ['J3 RS1', 'algorithm_not_allowed', withHeader({ alg: 'RS1' })],
  ['J3 RS512, which is not configured', 'algorithm_not_allowed', withHeader({ alg: 'RS512' })],
  ['J3 RS256 with the id of an EC key', 'unknown_key', withHeader({ kid: 'bare' })],
  ['J3 an array of algorithms', 'algorithm_not_allowed', withHeader({ alg: ['RS256'] })],
  ['J4 kid: a path', 'unknown_key', withHeader({ kid: '../../etc/passwd' })],
  ['J4 kid: SQL', 'unknown_key', withHeader({ kid: "' or 1=1 --" })],
  ['J4 kid: a URL', 'unknown_key', () => oauth.token({}, { kid: canaryUrl })],
  ['J4 kid: __proto__', 'unknown_key', withHeader({ kid: '__proto__' })],
  ['J4 kid: a number', 'malformed_key_id', withHeader({ kid: 1 })],
  ['J4 kid: an object', 'malformed_key_id', withHeader({ kid: { a: 1 } })],
  ['J4 kid: null', 'malformed_key_id', withHeader({ kid: null })],
  ['J4 kid: 257 characters', 'malformed_key_id', withHeader({ kid: 'k'.repeat(257) })],
  ['J5 jku', 'untrusted_key_header', () => oauth.token({}, { jku: canaryUrl })],
  ['J5 x5u', 'untrusted_key_header', () => oauth.token({}, { x5u: canaryUrl })],
  ['J5 x5c', 'untrusted_key_header', withHeader({ x5c: ['MIIB'] })],
  [
    'J5 jwk, signed by the key in it',
    'untrusted_key_header',
    () => signToken({ alg: 'RS256', jwk: attacker.jwk }, claims(), attacker),
  ],
  [
    'J6 no kid, signed by nobody',
    'bad_signature',
    () => signToken({ alg: 'RS256' }, claims(), attacker),
  ],
  ['J7 crit unknown', 'unsupported_extension', withHeader({ crit: ['exp'] })],
  ['J7 crit empty', 'unsupported_extension', withHeader({ crit: [] })],
  ['J7 crit no array', 'unsupported_extension', withHeader({ crit: 'exp' })],
  ['J7 b64 false', 'unsupported_extension', withHeader({ b64: false, crit: ['b64'] })],
  ['J7 b64 without crit', 'unsupported_extension', withHeader({ b64: false })],
  ['J7 zip', 'unsupported_extension', withHeader({ zip: 'DEF' })],
  ['J8 five parts', 'encrypted_token', () => 'a.b.c.d.e'],
  ['J8 two parts', 'malformed_token', () => oauth.token().split('.').slice(0, 2).join('.')],
  ['J8 four parts', 'malformed_token', () => `${oauth.token()}.x`],
  ['J8 dots only', 'malformed_token', () => '..'],
  ['J8 an empty header', 'malformed_token', () => `.${base64url(claims())}.x`],
  ['J10 one = at the end', 'malformed_token', () => `${oauth.token()}=`],
  ['J10 two = at the end', 'malformed_token', () => `${oauth.token()}==`],
  ['J10 unused bits', 'malformed_token', () => flipUnusedBits(oauth.token())],
  ['J10 base64 for base64url', 'malformed_token', () => `${oauth.token().slice(0, -4)}+/+/`],
  ['J11 cid twice', 'malformed_token', prefixed('"cid":"other"')],
  ['J11 cid twice, once escaped', 'malformed_token', prefixed('"\\u0063id":"other"')],
  ['J11 exp twice', 'malformed_token', prefixed('"exp":1')],
  [
    'J11 alg twice in the header',
    'malformed_token',
    () => signToken('{"alg":"none","alg":"RS256","kid":"key-1"}', claims(), oauth.key),
  ],
  [
    'J12 exp 1e400',
    'malformed_token',
    () => raw(JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'))(),
  ],
  ['J23 typ logout+jwt', 'wrong_type', withHeader({ typ: 'logout+jwt' })],
  ['J23 typ dpop+jwt', 'wrong_type', withHeader({ typ: 'dpop+jwt' })],
  ['J23 typ secevent+jwt', 'wrong_type', withHeader({ typ: 'secevent+jwt' })],
  [
    'J23 typ of the Okta org server',
    'wrong_type',
    withHeader({ typ: 'application/okta-internal-at+jwt' }),
  ],
  ['J23 typ a number', 'wrong_type', withHeader({ typ: 1 })],
  [
    'J26 signed by the keys of another organization',
    'bad_signature',
    () => signToken({ alg: 'RS256', kid: 'key-1' }, claims(), attacker),
  ],
  [
    "J26 another organization's issuer, with this one's client",
    'bad_signature',
    () => signToken({ alg: 'RS256', kid: 'key-1' }, goodClaims(attackersIdp.issuer), attacker),
  ],
  ['J36 an array', 'malformed_token', raw('[1]')],
  ['J36 null', 'malformed_token', raw('null')],
  ['J36 a text', 'malformed_token', raw('"x"')],
  [
    'J36 invalid UTF-8',
    'malformed_token',
    raw(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  ],
  ['J36 a byte order mark', 'malformed_token', () => raw(`\uFEFF${JSON.stringify(claims())}`)()],
  ['J36 nested deeply', 'malformed_token', raw(`{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`)],
]

/** Refused although the signature holds: the bearer is told why. */
const disclosed: readonly Row[] = [
  ['J12 no exp', 'malformed_date', withClaims({ exp: undefined })],
  ['J12 exp null', 'malformed_date', withClaims({ exp: null })],
  ['J12 exp a text', 'malformed_date', () => oauth.token({ exp: String(now() + 60) })],
  ['J12 exp negative', 'malformed_date', withClaims({ exp: -1 })],
  ['J12 exp in ten years', 'lifetime_too_long', () => oauth.token({ exp: now() + 315_360_000 })],
  ['J12 exp 31 s ago', 'token_expired', () => oauth.token({ iat: now() - 600, exp: now() - 31 })],
  [
    'J12 exp before iat',
    'lifetime_too_long',
    () => oauth.token({ iat: now() + 20, exp: now() + 10 }),
  ],
  ['J12 no iat', 'malformed_date', withClaims({ iat: undefined })],
  ['J13 nbf in 90 s', 'token_not_yet_valid', () => oauth.token({ nbf: now() + 90 })],
  ['J13 nbf a text', 'malformed_date', withClaims({ nbf: '0' })],
  ['J13 nbf null', 'malformed_date', withClaims({ nbf: null })],
  [
    'J13 iat in an hour',
    'token_not_yet_valid',
    () => oauth.token({ iat: now() + 3600, exp: now() + 7200 }),
  ],
  ['J13 iat a text', 'malformed_date', withClaims({ iat: '1' })],
  ['J14 another aud', 'wrong_audience', withClaims({ aud: 'https://other.test' })],
  ['J14 no aud', 'wrong_audience', withClaims({ aud: undefined })],
  ['J14 aud null', 'wrong_audience', withClaims({ aud: null })],
  ['J14 aud with a slash', 'wrong_audience', withClaims({ aud: `${BASE_URL}/` })],
  ['J14 aud in capitals', 'wrong_audience', withClaims({ aud: BASE_URL.toUpperCase() })],
  [
    'J14 aud with userinfo',
    'wrong_audience',
    withClaims({ aud: 'http://platform.test@evil.test' }),
  ],
  ['J14 aud as a prefix', 'wrong_audience', withClaims({ aud: `${BASE_URL}.evil.test` })],
  ['J14 ours beside a number', 'wrong_audience', withClaims({ aud: [BASE_URL, 1] })],
  ['J14 ours in an array in an array', 'wrong_audience', withClaims({ aud: [[BASE_URL]] })],
  ['J14 no audience in the array', 'wrong_audience', withClaims({ aud: [] })],
  [
    'J14 an object like an array',
    'wrong_audience',
    withClaims({ aud: { 0: BASE_URL, length: 1 } }),
  ],
  ['J15 iss with a slash', 'wrong_issuer', () => oauth.token({ iss: `${oauth.idp.issuer}/` })],
  [
    'J15 iss in capitals',
    'wrong_issuer',
    () => oauth.token({ iss: oauth.idp.issuer.toUpperCase() }),
  ],
  ['J15 iss in an array', 'wrong_issuer', () => oauth.token({ iss: [oauth.idp.issuer] })],
  ['J15 no iss', 'wrong_issuer', withClaims({ iss: undefined })],
  [
    "J15 another organization's iss",
    'wrong_issuer',
    () => oauth.token({ iss: attackersIdp.issuer }),
  ],
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
  ['J23 nonce', 'id_token', withClaims({ nonce: 'n' })],
  ['J23 at_hash', 'id_token', withClaims({ at_hash: 'h' })],
  ['J23 c_hash', 'id_token', withClaims({ c_hash: 'h' })],
  ['J23 typ ID', 'id_token', withClaims({ typ: 'ID' })],
  ['J23 typ Refresh', 'id_token', withClaims({ typ: 'Refresh' })],
  ['J23 typ a number', 'id_token', withClaims({ typ: 1 })],
  ['J23 token_use id', 'id_token', withClaims({ token_use: 'id' })],
  [
    'J24 the token of a person at another client',
    'client_mismatch',
    withClaims({ sub: 'ada', cid: 'spa' }),
  ],
  ['J25 cnf jkt', 'sender_constrained', withClaims({ cnf: { jkt: 'x' } })],
  ['J25 cnf null', 'sender_constrained', withClaims({ cnf: null })],
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

  it('each row has the same status at the addresses of MCP', async () => {
    const { sql, rival, service } = oauth
    const alone = (internal: boolean) =>
      sql`update organizations set internal = ${internal} where id = ${rival.organizationId}`
    const statusAt = async (url: string, token: string): Promise<number> => {
      const headers = { ...newCaller(token), 'content-type': 'application/json' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      return (await fetch(url, { method: 'POST', body, headers })).status
    }
    const refused = [...undisclosed, ...disclosed].map(([, , make]) => [401, make] as const)
    const unscoped = scopeless.map(([, changes]) => [403, withClaims(changes)] as const)
    const accepted = good.map(([, make]) => [200, make] as const)
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
