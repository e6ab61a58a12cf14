import type { JWK } from 'jose'
import * as v from 'valibot'
import type { Algorithm } from '../../../platform/automations/automation-oauth.ts'

/**
 * The form of the primes that the flawed library makes: p = k · M + (65537^a mod M), M the product
 * of the first primes.
 */
const GENERATOR = 65_537
/** For keys of 2048 bits and more, M holds all primes up to this one at least. */
const PRIME_MAX = 701

/** For each odd prime of M: the remainders that such a modulus can have. */
const REMAINDERS: readonly (readonly [prime: number, ReadonlySet<number>])[] = oddPrimes(
  PRIME_MAX,
).map((prime) => [prime, powersOf(GENERATOR % prime, prime)])

/**
 * Tells whether an RSA modulus was made by the flawed library of Infineon's chips (ROCA,
 * CVE-2017-15361): its factors can be computed. Of moduli that were not, fewer than one in 2^100
 * looks so.
 */
export function hasWeakPrimes(modulus: bigint): boolean {
  return REMAINDERS.every(([prime, possible]) => possible.has(Number(modulus % BigInt(prime))))
}

function oddPrimes(max: number): number[] {
  const primes: number[] = []
  for (let candidate = 3; candidate <= max; candidate += 2) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  }
  return primes
}

/** The subgroup that a number generates modulo a prime. */
function powersOf(generator: number, prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * generator) % prime) powers.add(power)
  return powers
}

const KEYS_MAX = 100
const RSA_BITS_MIN = 2048
const RSA_BITS_MAX = 8192
const EXPONENT_BYTES_MAX = 4
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const number = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]+$/))
const jwk = v.looseObject({
  kid: v.optional(v.string()),
  alg: v.optional(v.string()),
  use: v.optional(v.literal('sig')),
  key_ops: v.optional(v.pipe(v.array(v.string()), v.includes('verify'))),
})
const publicKey = v.intersect([
  jwk,
  v.variant('kty', [
    v.looseObject({ kty: v.literal('RSA'), n: number, e: number }),
    v.looseObject({
      kty: v.literal('EC'),
      crv: v.picklist(['P-256', 'P-384', 'P-521']),
      x: number,
      y: number,
    }),
    v.looseObject({ kty: v.literal('OKP'), crv: v.literal('Ed25519'), x: number }),
  ]),
])

/**
 * The keys of a JWK set (RFC 7517) that may check a signature. Private and symmetric keys, those
 * for encryption, weak ones and what cannot be read are left out; undefined when it is no set, or
 * one of more than 100 keys.
 */
export function vetKeys(document: Readonly<Record<string, unknown>>): readonly JWK[] | undefined {
  const { keys } = document
  if (!Array.isArray(keys) || keys.length > KEYS_MAX) return undefined
  return keys.flatMap((each: unknown) => vetKey(each) ?? [])
}

function vetKey(candidate: unknown): JWK | undefined {
  const { success, output: key } = v.safeParse(publicKey, candidate)
  if (!success || PRIVATE_MEMBERS.some((name) => Object.hasOwn(key, name))) return undefined
  const { kid, alg } = key
  const common = { ...(kid === undefined ? {} : { kid }), ...(alg === undefined ? {} : { alg }) }
  if (key.kty === 'OKP') return { ...common, kty: key.kty, crv: key.crv, x: key.x }
  if (key.kty === 'EC') return { ...common, kty: key.kty, crv: key.crv, x: key.x, y: key.y }
  return isStrong(key) ? { ...common, kty: key.kty, n: key.n, e: key.e } : undefined
}

/**
 * An exponent of 1 makes every signature valid; an even one is no RSA key at all; some primes can
 * be found out.
 */
function isStrong({ n, e }: { readonly n: string; readonly e: string }): boolean {
  const exponent = Buffer.from(e, 'base64url')
  const value =
    exponent.byteLength <= EXPONENT_BYTES_MAX ? Number(`0x0${exponent.toString('hex')}`) : 0
  const modulus = BigInt(`0x0${Buffer.from(n, 'base64url').toString('hex')}`)
  const bits = modulus.toString(2).length
  if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX) return false
  return value >= 3 && value % 2 === 1 && !hasWeakPrimes(modulus)
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/**
 * Returns true if a key may check signatures of this algorithm: by its kind, and by its own `alg`
 * if it has one.
 */
export function fits(key: JWK, algorithm: Algorithm): boolean {
  if (key.alg !== undefined && key.alg !== algorithm) return false
  if (algorithm === 'EdDSA') return key.kty === 'OKP'
  if (algorithm.startsWith('ES')) return key.kty === 'EC' && key.crv === CURVES[algorithm]
  return key.kty === 'RSA'
}
