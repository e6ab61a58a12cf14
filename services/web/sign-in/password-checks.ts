import { hashPassword, verifyPassword } from '../../platform/people/passwords.ts'
import type { PasswordCost } from '../../platform/people/passwords.ts'
import { limitConcurrency } from '../http/limit-concurrency.ts'

const busy = 'Too many people sign in right now. Try again in a moment.'
/** Each takes 128 MiB while it runs. */
const CHECKS = { concurrent: 2, waitingMax: 30, busy }
const HASHES = { concurrent: 1, waitingMax: 10, busy }

/** Checks and hashes passwords. */
export interface PasswordChecks {
  readonly verify: (password: string, hash: string | null) => Promise<boolean>
  readonly hash: (password: string) => Promise<string>
}

/** Creates checks of passwords, a few at a time. They raise `unavailable` when too many wait. */
export const createPasswordChecks = (cost?: PasswordCost): PasswordChecks => ({
  verify: limitConcurrency((password, hash) => verifyPassword(password, hash, cost), CHECKS),
  hash: limitConcurrency((password) => hashPassword(password, cost), HASHES),
})
