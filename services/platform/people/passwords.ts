import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'

/** What a hash costs: the parameters of scrypt. */
export interface PasswordCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** OWASP's minimum for scrypt: 2^17 rounds of 8 blocks, 128 MiB. */
const COST: PasswordCost = { N: 2 ** 17, r: 8, p: 1 }
const MAX_MEMORY = 256 * 1024 * 1024
const KEY_BYTES = 32
/** The shortest password, in UTF-16 code units. */
export const PASSWORD_MIN_LENGTH = 12
/** Longer input costs us work and gives no more safety. */
const PASSWORD_MAX_LENGTH = 1024

/**
 * Returns a salted scrypt hash that contains its own parameters. Raises `unprocessable` for a
 * password that is too short or too long.
 */
export async function hashPassword(password: string, cost = COST): Promise<string> {
  if (password.length < PASSWORD_MIN_LENGTH || password.length > PASSWORD_MAX_LENGTH) {
    throw new AppError(
      'unprocessable',
      `A password has between ${PASSWORD_MIN_LENGTH} and ${PASSWORD_MAX_LENGTH} characters; ` +
        `this one has ${password.length}.`,
    )
  }
  const salt = randomBytes(16)
  const key = await derive(password, salt, cost)
  const { N, r, p } = cost
  return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/**
 * Compares a password with a hash. Without a hash it takes the time of one with this cost,
 * and returns false.
 */
export async function verifyPassword(
  password: string,
  hash: string | null,
  cost = COST,
): Promise<boolean> {
  const [, N, r, p, salt = '', key = ''] = (hash ?? dummyOf(cost)).split('$')
  const given = await derive(
    password.slice(0, PASSWORD_MAX_LENGTH),
    Buffer.from(salt, 'base64url'),
    { N: Number(N), r: Number(r), p: Number(p) },
  )
  const same = timingSafeEqual(given, Buffer.from(key, 'base64url'))
  return same && hash !== null
}

const dummyOf = ({ N, r, p }: PasswordCost): string =>
  ['scrypt', N, r, p, 'A'.repeat(22), 'A'.repeat(43)].join('$')

function derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(
      password.normalize('NFKC'),
      salt,
      KEY_BYTES,
      { ...cost, maxmem: MAX_MEMORY },
      (error, key) => (error ? reject(error) : resolve(key)),
    )
  })
}
