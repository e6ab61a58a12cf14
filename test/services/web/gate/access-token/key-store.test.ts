import { gzipSync } from 'node:zlib'
import type { RequestListener } from 'node:http'
import type { JWK } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import { fetchKeys } from '../../../../../services/web/gate/access-token/fetch-keys.ts'
import type {
  FetchStep,
  KeySource,
} from '../../../../../services/web/gate/access-token/fetch-keys.ts'
import { createKeyStore } from '../../../../../services/web/gate/access-token/key-store.ts'
import { createSigningKey, startKeyServer } from '../../../../support/key-server.ts'
import type { KeyServer } from '../../../../support/key-server.ts'
import { guardFor } from '../../../../support/outgoing.ts'
import { until } from '../../../../support/until.ts'
import { startDuration } from '../../../../support/duration.ts'

const log = createLog({ name: 'test', level: 'silent' })
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const one = createSigningKey('one')
const two = createSigningKey('two')
const fail: RequestListener = (_, response) => void response.writeHead(500).end()

let idp: KeyServer
let clockMs: number

beforeEach(async () => {
  idp = await startKeyServer([one])
  clockMs = 1_000_000
})

afterEach(() => idp.stop())

function open({ staleMs = 24 * HOUR_MS, privateOrigins = [idp.issuer] } = {}) {
  const store = createKeyStore({
    guard: guardFor(...privateOrigins),
    staleMs,
    log,
    now: () => clockMs,
  })
  const source: KeySource = { issuer: idp.issuer, discoveryUrl: null, jwksUrl: null }
  const find = async (kid: string): Promise<number | undefined> =>
    (await store.of(1, source).find((key: JWK) => key.kid === kid))?.length
  return { store, source, find }
}

const many = <Result>(count: number, call: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, call))

describe('the keys of an identity provider (SPEC 5.2)', () => {
  it('J28 are fetched once for 200 callers at once, and for all that follow', async () => {
    const { find } = open()
    expect(new Set(await many(200, () => find('one')))).toEqual(new Set([1]))
    await many(100, () => find('one'))
    expect(idp.keyFetches()).toBe(1)
  })

  it('are fetched again behind the back of callers when they are 8 minutes old', async () => {
    const { find } = open()
    await find('one')
    clockMs += 8 * MINUTE_MS + 1
    idp.publishKeys(two)
    expect(await find('one')).toBe(1)
    await until(async () => (await find('two')) === 1)
    expect(await find('one')).toBe(0)
    expect(idp.keyFetches()).toBe(2)
  })

  it('J30 a new key works at once, and an old one dies within 10 minutes', async () => {
    const { find } = open()
    await find('one')
    clockMs += 5000
    idp.publishKeys(two)
    expect(await find('one')).toBe(1)
    expect(await find('two')).toBe(1)
    expect(await find('one')).toBe(0)
  })

  it('an old key dies within 10 minutes also when nobody brings the new one', async () => {
    const { find } = open()
    await find('one')
    idp.publishKeys(two)
    clockMs += 10 * MINUTE_MS + 1
    expect(await find('one')).toBe(0)
  })

  it('J30 a flood of unknown keys costs one fetch in 30 s and delays a key no longer', async () => {
    const { find } = open()
    await many(100, () => find('flood'))
    clockMs += 2000
    await many(100, () => find('flood'))
    expect(idp.keyFetches()).toBe(2)
    idp.publishKeys(one, two)
    clockMs += 28_000
    expect(await find('two')).toBe(0)
    clockMs += 2001
    expect(await find('two')).toBe(1)
    expect(idp.keyFetches()).toBe(3)
  })

  it('J29 cold and unavailable: an error for all, and one request in 10 s', async () => {
    idp.answerWith(fail)
    const { find } = open()
    expect(new Set(await many(20, () => find('one')))).toEqual(new Set([undefined]))
    await many(20, () => find('one'))
    expect(idp.paths).toHaveLength(1)
    clockMs += 10_001
    idp.answerWith()
    expect(await find('one')).toBe(1)
  })

  it('J29 warm and unavailable: the last keys serve for a day and no minute longer', async () => {
    const { find } = open()
    await find('one')
    idp.answerWith(fail)
    clockMs += 11 * MINUTE_MS
    expect(await find('one')).toBe(1)
    // Whether this key is a new one, only the provider knows.
    expect(await find('two')).toBeUndefined()
    clockMs += 23 * HOUR_MS
    expect(await find('one')).toBe(1)
    clockMs += 2 * HOUR_MS
    expect(await find('one')).toBeUndefined()
    idp.answerWith()
    clockMs += 10_001
    expect(await find('one')).toBe(1)
  })

  it('the day is a setting; 0 ends it with the 10 minutes', async () => {
    const { find } = open({ staleMs: 0 })
    await find('one')
    idp.answerWith(fail)
    clockMs += 10 * MINUTE_MS + 1
    expect(await find('one')).toBeUndefined()
  })

  it('warm and hanging: the first caller waits, the others are served at once', async () => {
    const { find } = open()
    await find('one')
    idp.answerWith(() => {})
    clockMs += 11 * MINUTE_MS
    expect(await find('one')).toBe(1)
    const asked = idp.paths.length
    clockMs += 10_001
    expect(await find('one')).toBe(1)
    await until(async () => idp.paths.length > asked)
  })

  it('are apart for each organization, and new when the settings name another source', async () => {
    const { store, source } = open()
    const ask = (organizationId: number, changes: Partial<KeySource> = {}) =>
      store.of(organizationId, { ...source, ...changes }).find(() => true)
    await ask(1)
    await ask(2)
    expect(idp.keyFetches()).toBe(2)
    await ask(1, { jwksUrl: `${idp.issuer}/keys` })
    expect(idp.keyFetches()).toBe(3)
    expect(await ask(3, { issuer: `${idp.issuer}/` })).toBeUndefined()
  })
})

describe('what an identity provider answers (J27)', () => {
  const problem = async (changes: Partial<KeySource> = {}, privateOrigins = [idp.issuer]) => {
    const source = { issuer: idp.issuer, discoveryUrl: null, jwksUrl: `${idp.issuer}/keys` }
    try {
      const options = { guard: guardFor(...privateOrigins), organizationId: 1 }
      return (await fetchKeys({ ...source, ...changes }, options)).keys.length
    } catch (thrown) {
      const { code, details } = Object.assign(new Error(), { code: '', details: {} }, thrown)
      return 'problem' in details ? details.problem : code
    }
  }
  const answer = (status: number, body: string | Buffer, headers = {}) =>
    idp.answerWith((_, response) => void response.writeHead(status, headers).end(body))

  it('is not believed when it redirects, is no JSON, or comes packed', async () => {
    const location = 'http://169.254.169.254/latest/meta-data'
    answer(302, '', { location })
    expect(await problem()).toBe('redirect')
    answer(200, '<html>Sign in</html>', { 'content-type': 'text/html' })
    expect(await problem()).toBe('not_json')
    answer(200, '[]')
    expect(await problem()).toBe('not_json')
    const packed = gzipSync(JSON.stringify({ keys: [one.jwk] }))
    answer(200, packed, { 'content-encoding': 'gzip' })
    expect(await problem()).toBe('not_json')
    answer(503, '')
    expect(await problem()).toBe('http_status')
  })

  it('may be of the type of a set of keys alone, as Kubernetes answers', async () => {
    const type = 'application/jwk-set+json'
    idp.answerWith(({ headers }, response) => {
      const types = headers.accept?.split(', ') ?? []
      if (!types.includes(type)) return void response.writeHead(406).end()
      response.writeHead(200, { 'content-type': type }).end(JSON.stringify({ keys: [one.jwk] }))
    })
    expect(await problem()).toBe(1)
  })

  it('is read up to 256 KiB and for 3 s', async () => {
    let sent = 0
    idp.answerWith((_, response) => {
      const pour = (): void => {
        while (!response.destroyed && sent < 100e6) {
          sent += 65_536
          if (!response.write(' '.repeat(65_536))) return void response.once('drain', pour)
        }
      }
      pour()
    })
    expect(await problem()).toBe('too_large')
    expect(sent).toBeLessThan(20e6)
    const waiting = startDuration('waiting for the keys')
    idp.answerWith((_, response) => {
      const timer = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(timer))
    })
    expect(await problem()).toBe('timeout')
    waiting.expectBelow(30_000)
  })

  it('counts only public keys that are strong and made for signatures', async () => {
    const rsa = (changes: object) => ({ ...one.jwk, ...changes })
    idp.publish({
      keys: [
        createSigningKey('weak', { bits: 1024 }).jwk,
        rsa({ e: 'AQ' }),
        rsa({ e: 'Ag' }),
        rsa({ e: 'AQAAAAAB' }),
        rsa({ use: 'enc' }),
        rsa({ key_ops: ['sign'] }),
        rsa({ n: undefined }),
        { kty: 'oct', k: 'c2VjcmV0' },
        { ...one.privateKey.export({ format: 'jwk' }), kid: 'private' },
        { kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA' },
        null,
        'key',
      ],
    })
    expect(await problem()).toBe('no_keys')
    idp.publish({ keys: [rsa({ use: undefined }), rsa({ key_ops: ['verify'] }), two.jwk] })
    expect(await problem()).toBe(3)
    for (const published of [{}, { keys: {} }, { keys: [] }, { keys: Array(101).fill(one.jwk) }]) {
      idp.publish(published)
      expect(await problem()).toBe('no_keys')
    }
  })

  it('is asked for at the four well-known places, until one names the very issuer', async () => {
    const issuer = `${idp.issuer}/oauth2/default`
    const steps: FetchStep[] = []
    const source = { issuer, discoveryUrl: null, jwksUrl: null }
    idp.answerWith((request, response) => {
      const isLast = request.url === '/.well-known/openid-configuration/oauth2/default'
      response.writeHead(isLast || request.url === '/k' ? 200 : 404)
      const document = isLast ? { issuer, jwks_uri: `${idp.issuer}/k` } : { keys: [one.jwk] }
      response.end(JSON.stringify(document))
    })
    const options = {
      guard: guardFor(idp.issuer),
      organizationId: 1,
      onStep: (step: FetchStep) => void steps.push(step),
    }
    expect((await fetchKeys(source, options)).keys).toHaveLength(1)
    expect(
      steps.map(({ url, problem: why }) => [url.slice(idp.issuer.length), why === undefined]),
    ).toEqual([
      ['/oauth2/default/.well-known/openid-configuration', false],
      ['/oauth2/default/.well-known/oauth-authorization-server', false],
      ['/.well-known/oauth-authorization-server/oauth2/default', false],
      ['/.well-known/openid-configuration/oauth2/default', true],
      ['/k', true],
    ])
    idp.answerWith()
    expect(await problem({ issuer: `${idp.issuer}/`, jwksUrl: null })).toBe('issuer_mismatch')
  })

  it('is fetched by https from public addresses, unless the origin is allowed', async () => {
    const asked = idp.paths.length
    expect(await problem({}, [])).toBe('not_https')
    const { port } = new URL(idp.issuer)
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', 'localhost', '0.0.0.0']) {
      expect(await problem({ jwksUrl: `https://${host}:${port}/keys` }, [])).toBe('private_address')
    }
    for (const host of ['2130706433', '[::ffff:127.0.0.1]', 'LOCALHOST']) {
      expect(await problem({ jwksUrl: `https://${host}:${port}/keys` }, [])).toBe('not_canonical')
    }
    // Allowing one origin allows no other, and no other way to it.
    expect(await problem({ jwksUrl: `http://localhost:${port}/keys` })).toBe('not_https')
    expect(await problem({ jwksUrl: `https://localhost:${port}/keys` })).toBe('private_address')
    expect(idp.paths.length).toBe(asked)
  })
})
