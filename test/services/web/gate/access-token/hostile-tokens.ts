import { createHmac } from 'node:crypto'
import { base64url, signToken } from '../../../../support/key-server.ts'
import type { SigningKey } from '../../../../support/key-server.ts'

type Changes = Record<string, unknown>

/** A door for tokens, and those who would like to pass it. */
export interface HostileStage {
  /** An RSA key of the issuer, with the id `key-1`. */
  readonly key: SigningKey
  readonly issuer: string
  readonly audience: string
  /** What a token has to say. */
  readonly claims: (changes?: Changes) => Changes
  /** A token that the door takes, unless something is changed; `undefined` removes a claim. */
  readonly token: (changes?: Changes, header?: Changes) => string
  /** A key of the same id, of another issuer. */
  readonly attacker: SigningKey
  readonly attackersIssuer: string
  /** What no one asks. */
  readonly canaryUrl: string
}

/** A token that no door takes, with the reason that the log has. */
export type HostileRow = readonly [
  what: string,
  reason: string,
  make: (stage: HostileStage) => string,
]

type Make = HostileRow[2]

const now = () => Math.floor(Date.now() / 1000)
const withClaims =
  (changes: Changes): Make =>
  ({ token }) =>
    token(changes)
const withHeader =
  (header: Changes): Make =>
  ({ token }) =>
    token({}, header)
const withAudience =
  (change: (ours: string) => unknown): Make =>
  ({ token, audience }) =>
    token({ aud: change(audience) })
const raw =
  (payload: string | Buffer): Make =>
  ({ key }) =>
    signToken({ alg: 'RS256', kid: 'key-1' }, payload, key)
/** The JSON of the claims with this text put in front. */
const prefixed =
  (member: string): Make =>
  (stage) =>
    raw(`{${member},${JSON.stringify(stage.claims()).slice(1)}`)(stage)

const unsigned =
  (alg: string): Make =>
  ({ claims }) =>
    `${base64url({ alg })}.${base64url(claims())}.`
const hmac =
  (secret: (stage: HostileStage) => string | Buffer): Make =>
  (stage) => {
    const signed = `${base64url({ alg: 'HS256', kid: 'key-1' })}.${base64url(stage.claims())}`
    return `${signed}.${createHmac('sha256', secret(stage)).update(signed).digest('base64url')}`
  }
const spki = ({ key: { publicKey } }: HostileStage, type: 'pem' | 'der') =>
  type === 'pem'
    ? publicKey.export({ format: 'pem', type: 'spki' })
    : publicKey.export({ format: 'der', type: 'spki' })

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
export const UNDISCLOSED: readonly HostileRow[] = [
  ['J1 alg none', 'malformed_token', unsigned('none')],
  ['J1 alg None', 'malformed_token', unsigned('None')],
  ['J1 alg nOnE', 'malformed_token', unsigned('nOnE')],
  ['J1 alg none with a signature', 'algorithm_not_allowed', withHeader({ alg: 'none' })],
  [
    'J2 HMAC with the public key as PEM',
    'algorithm_not_allowed',
    hmac((stage) => spki(stage, 'pem')),
  ],
  [
    'J2 HMAC with the public key as DER',
    'algorithm_not_allowed',
    hmac((stage) => spki(stage, 'der')),
  ],
  [
    'J2 HMAC with the public key as JWK',
    'algorithm_not_allowed',
    hmac(({ key }) => JSON.stringify(key.jwk)),
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
  ['J4 kid: a URL', 'unknown_key', ({ token, canaryUrl }) => token({}, { kid: canaryUrl })],
  ['J4 kid: __proto__', 'unknown_key', withHeader({ kid: '__proto__' })],
  ['J4 kid: a number', 'malformed_key_id', withHeader({ kid: 1 })],
  ['J4 kid: an object', 'malformed_key_id', withHeader({ kid: { a: 1 } })],
  ['J4 kid: null', 'malformed_key_id', withHeader({ kid: null })],
  ['J4 kid: 257 characters', 'malformed_key_id', withHeader({ kid: 'k'.repeat(257) })],
  ['J5 jku', 'untrusted_key_header', ({ token, canaryUrl }) => token({}, { jku: canaryUrl })],
  ['J5 x5u', 'untrusted_key_header', ({ token, canaryUrl }) => token({}, { x5u: canaryUrl })],
  ['J5 x5c', 'untrusted_key_header', withHeader({ x5c: ['MIIB'] })],
  [
    'J5 jwk, signed by the key in it',
    'untrusted_key_header',
    ({ claims, attacker }) => signToken({ alg: 'RS256', jwk: attacker.jwk }, claims(), attacker),
  ],
  [
    'J6 no kid, signed by nobody',
    'bad_signature',
    ({ claims, attacker }) => signToken({ alg: 'RS256' }, claims(), attacker),
  ],
  ['J7 crit unknown', 'unsupported_extension', withHeader({ crit: ['exp'] })],
  ['J7 crit empty', 'unsupported_extension', withHeader({ crit: [] })],
  ['J7 crit no array', 'unsupported_extension', withHeader({ crit: 'exp' })],
  ['J7 b64 false', 'unsupported_extension', withHeader({ b64: false, crit: ['b64'] })],
  ['J7 b64 without crit', 'unsupported_extension', withHeader({ b64: false })],
  ['J7 zip', 'unsupported_extension', withHeader({ zip: 'DEF' })],
  ['J8 five parts', 'encrypted_token', () => 'a.b.c.d.e'],
  ['J8 two parts', 'malformed_token', ({ token }) => token().split('.').slice(0, 2).join('.')],
  ['J8 four parts', 'malformed_token', ({ token }) => `${token()}.x`],
  ['J8 dots only', 'malformed_token', () => '..'],
  ['J8 an empty header', 'malformed_token', ({ claims }) => `.${base64url(claims())}.x`],
  ['J10 one = at the end', 'malformed_token', ({ token }) => `${token()}=`],
  ['J10 two = at the end', 'malformed_token', ({ token }) => `${token()}==`],
  ['J10 unused bits', 'malformed_token', ({ token }) => flipUnusedBits(token())],
  ['J10 base64 for base64url', 'malformed_token', ({ token }) => `${token().slice(0, -4)}+/+/`],
  ['J11 cid twice', 'malformed_token', prefixed('"cid":"other"')],
  ['J11 cid twice, once escaped', 'malformed_token', prefixed('"\\u0063id":"other"')],
  ['J11 exp twice', 'malformed_token', prefixed('"exp":1')],
  [
    'J11 alg twice in the header',
    'malformed_token',
    ({ claims, key }) => signToken('{"alg":"none","alg":"RS256","kid":"key-1"}', claims(), key),
  ],
  [
    'J12 exp 1e400',
    'malformed_token',
    (stage) => raw(JSON.stringify(stage.claims()).replace(/"exp":\d+/, '"exp":1e400'))(stage),
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
    ({ claims, attacker }) => signToken({ alg: 'RS256', kid: 'key-1' }, claims(), attacker),
  ],
  [
    "J26 another organization's issuer, with this one's client",
    'bad_signature',
    ({ claims, attacker, attackersIssuer }) =>
      signToken({ alg: 'RS256', kid: 'key-1' }, claims({ iss: attackersIssuer }), attacker),
  ],
  ['J36 an array', 'malformed_token', raw('[1]')],
  ['J36 null', 'malformed_token', raw('null')],
  ['J36 a text', 'malformed_token', raw('"x"')],
  [
    'J36 invalid UTF-8',
    'malformed_token',
    raw(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  ],
  [
    'J36 a byte order mark',
    'malformed_token',
    (stage) => raw(`\uFEFF${JSON.stringify(stage.claims())}`)(stage),
  ],
  ['J36 nested deeply', 'malformed_token', raw(`{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`)],
]

/** Refused although the signature holds: the bearer is told why. */
export const DISCLOSED: readonly HostileRow[] = [
  ['J12 no exp', 'malformed_date', withClaims({ exp: undefined })],
  ['J12 exp null', 'malformed_date', withClaims({ exp: null })],
  ['J12 exp a text', 'malformed_date', ({ token }) => token({ exp: String(now() + 60) })],
  ['J12 exp negative', 'malformed_date', withClaims({ exp: -1 })],
  ['J12 exp in ten years', 'lifetime_too_long', ({ token }) => token({ exp: now() + 315_360_000 })],
  [
    'J12 exp 31 s ago',
    'token_expired',
    ({ token }) => token({ iat: now() - 600, exp: now() - 31 }),
  ],
  [
    'J12 exp before iat',
    'lifetime_too_long',
    ({ token }) => token({ iat: now() + 20, exp: now() + 10 }),
  ],
  ['J12 no iat', 'malformed_date', withClaims({ iat: undefined })],
  ['J13 nbf in 90 s', 'token_not_yet_valid', ({ token }) => token({ nbf: now() + 90 })],
  ['J13 nbf a text', 'malformed_date', withClaims({ nbf: '0' })],
  ['J13 nbf null', 'malformed_date', withClaims({ nbf: null })],
  [
    'J13 iat in an hour',
    'token_not_yet_valid',
    ({ token }) => token({ iat: now() + 3600, exp: now() + 7200 }),
  ],
  ['J13 iat a text', 'malformed_date', withClaims({ iat: '1' })],
  ['J14 another aud', 'wrong_audience', withClaims({ aud: 'https://other.test' })],
  ['J14 no aud', 'wrong_audience', withClaims({ aud: undefined })],
  ['J14 aud null', 'wrong_audience', withClaims({ aud: null })],
  ['J14 aud with a slash', 'wrong_audience', withAudience((ours) => `${ours}/`)],
  ['J14 aud in capitals', 'wrong_audience', withAudience((ours) => ours.toUpperCase())],
  ['J14 aud with userinfo', 'wrong_audience', withAudience((ours) => `${ours}@evil.test`)],
  ['J14 aud as a prefix', 'wrong_audience', withAudience((ours) => `${ours}.evil.test`)],
  ['J14 ours beside a number', 'wrong_audience', withAudience((ours) => [ours, 1])],
  ['J14 ours in an array in an array', 'wrong_audience', withAudience((ours) => [[ours]])],
  ['J14 no audience in the array', 'wrong_audience', withClaims({ aud: [] })],
  [
    'J14 an object like an array',
    'wrong_audience',
    withAudience((ours) => ({ 0: ours, length: 1 })),
  ],
  ['J15 iss with a slash', 'wrong_issuer', ({ token, issuer }) => token({ iss: `${issuer}/` })],
  [
    'J15 iss in capitals',
    'wrong_issuer',
    ({ token, issuer }) => token({ iss: issuer.toUpperCase() }),
  ],
  ['J15 iss in an array', 'wrong_issuer', ({ token, issuer }) => token({ iss: [issuer] })],
  ['J15 no iss', 'wrong_issuer', withClaims({ iss: undefined })],
  [
    "J15 another organization's iss",
    'wrong_issuer',
    ({ token, attackersIssuer }) => token({ iss: attackersIssuer }),
  ],
  ['J23 nonce', 'id_token', withClaims({ nonce: 'n' })],
  ['J23 at_hash', 'id_token', withClaims({ at_hash: 'h' })],
  ['J23 c_hash', 'id_token', withClaims({ c_hash: 'h' })],
  ['J23 typ ID', 'id_token', withClaims({ typ: 'ID' })],
  ['J23 typ Refresh', 'id_token', withClaims({ typ: 'Refresh' })],
  ['J23 typ a number', 'id_token', withClaims({ typ: 1 })],
  ['J23 token_use id', 'id_token', withClaims({ token_use: 'id' })],
  ['J25 cnf jkt', 'sender_constrained', withClaims({ cnf: { jkt: 'x' } })],
  ['J25 cnf null', 'sender_constrained', withClaims({ cnf: null })],
]
