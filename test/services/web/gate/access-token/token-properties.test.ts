import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TokenPolicy } from '../../../../../services/platform/automations/automation-oauth.ts'
import { RULES } from '../../../../../services/web/gate/access-token/gate.ts'
import { parseToken } from '../../../../../services/web/gate/access-token/parse-token.ts'
import { readClaims } from '../../../../../services/web/gate/access-token/read-claims.ts'
import { firstRefusal } from '../../../../../services/web/gate/access-token/rule.ts'
import { base64url } from '../../../../support/key-server.ts'

const token = (header: unknown, payload: unknown, signature = 'c2ln'): string =>
  `${base64url(header)}.${base64url(payload)}.${signature}`

const policy: TokenPolicy = {
  issuer: 'https://idp.test',
  audiences: ['https://platform.test'],
  absentAudienceAllowed: false,
  scope: 'platform_automations',
  scopeClaim: 'scope',
  algorithms: ['RS256'],
  skewSeconds: 30,
  lifetimeSecondsMax: 86_400,
}
const NOW = 1_800_000_000
const good = {
  iss: policy.issuer,
  aud: 'https://platform.test',
  iat: NOW,
  exp: NOW + 60,
  client_id: 'crm',
  scope: 'platform_automations',
}
const decide = (claims: Readonly<Record<string, unknown>>, boundClient: string | null = 'crm') =>
  firstRefusal(RULES.signed, {
    header: {},
    ...readClaims(claims),
    policy,
    boundClient,
    nowSeconds: NOW,
  })

const json = fc.jsonValue({ maxDepth: 3 })

describe('parsing (RFC 7515 §7.1)', () => {
  it('never throws, whatever it is given', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseToken(text)))
    const parts = fc.array(
      fc.oneof(
        fc.base64String(),
        fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64url')),
      ),
      { maxLength: 6 },
    )
    fc.assert(fc.property(parts, (each) => void parseToken(each.join('.'))))
  })

  it('reads every object that was written as JSON, and nothing but objects', () => {
    fc.assert(
      fc.property(json, (payload) => {
        const text = JSON.stringify(payload)
        const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload)
        const isPlain = !/\\u(0000|d[89a-f])/i.test(text)
        const result = parseToken(token({ alg: 'RS256' }, text))
        expect(result.ok).toBe(isObject && isPlain)
        if (result.ok) expect(JSON.stringify(result.parsed.claims)).toBe(text)
      }),
    )
  })

  it('knows one spelling of each token: no changed character gives the same parts', () => {
    const original = token({ alg: 'RS256', kid: 'k' }, good, 'c2lnbmF0dXJl')
    const bytesOf = (text: string) =>
      text
        .split('.')
        .map((part) => Buffer.from(part, 'base64url').toString('hex'))
        .join('.')
    const characters = fc.constantFrom(...'ABCDwxyz0189-_+/=. \t\n%'.split(''))
    fc.assert(
      fc.property(
        fc.nat(original.length - 1),
        characters,
        fc.boolean(),
        (at, character, insert) => {
          const changed = original.slice(0, at) + character + original.slice(insert ? at : at + 1)
          if (changed === original || bytesOf(changed) !== bytesOf(original)) return
          expect(parseToken(changed).ok).toBe(false)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('refuses every member that is there twice, however deep and however escaped', () => {
    const key = fc.string({ minLength: 1, maxLength: 8 })
    const escape = (text: string) => {
      const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
      return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
    }
    fc.assert(
      fc.property(key, fc.nat(20), (name, depth) => {
        const inner = `{${JSON.stringify(name)}:1,${escape(name)}:2}`
        const payload = '{"a":'.repeat(depth) + inner + '}'.repeat(depth)
        expect(parseToken(token({ alg: 'RS256' }, payload)).ok).toBe(false)
      }),
    )
  })
})

describe('deciding', () => {
  it('accepts the good token', () => expect(decide(good)).toBeUndefined())

  it('never throws, and accepts no claims by accident', () => {
    const names = fc.constantFrom(
      'iss',
      'aud',
      'iat',
      'exp',
      'nbf',
      'client_id',
      'cid',
      'azp',
      'scope',
      'scp',
      'cnf',
      'typ',
      'nonce',
      '__proto__',
    )
    fc.assert(
      fc.property(fc.dictionary(names, json), (claims) => {
        expect(decide(claims)).toBeDefined()
      }),
    )
  })

  it('a needed claim of any other value is refused', () => {
    const needed = fc.constantFrom('iss', 'aud', 'client_id', 'scope')
    fc.assert(
      fc.property(needed, json, (name, value) => {
        const isGood = name === 'aud' && Array.isArray(value) && value.includes(good.aud)
        fc.pre(!isGood && value !== Object.entries(good).find(([each]) => each === name)?.[1])
        fc.pre(!(name === 'scope' && JSON.stringify(value).includes(policy.scope)))
        expect(decide({ ...good, [name]: value })).toBeDefined()
      }),
    )
  })

  it('a client passes only where it is bound, byte for byte', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (client, bound) => {
          const passes = decide({ ...good, client_id: client }, bound) === undefined
          expect(passes).toBe(
            client === bound && client.trim() !== '' && client.length <= 255 && client !== good.aud,
          )
        },
      ),
    )
    expect(decide(good, null)).toBe('automation_not_bound')
    expect(decide(good, '')).toBe('automation_not_bound')
  })

  it('J12 knows the skew to the second', () => {
    const at = (exp: number) => decide({ ...good, iat: NOW - 600, exp: NOW + exp })
    expect([-29, -30, -31].map(at)).toEqual([undefined, 'token_expired', 'token_expired'])
  })

  it('accepts within the dates and the skew only', () => {
    const near = fc.integer({ min: -100_000, max: 100_000 })
    fc.assert(
      fc.property(near, near, (iat, exp) => {
        const passes = decide({ ...good, iat: NOW + iat, exp: NOW + exp }) === undefined
        expect(passes).toBe(iat <= 30 && exp > -30 && exp > iat && exp - iat <= 86_400)
      }),
    )
  })
})
