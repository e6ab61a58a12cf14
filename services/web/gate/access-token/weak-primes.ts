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
