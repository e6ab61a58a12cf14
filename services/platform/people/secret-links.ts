import { createHash, randomBytes } from 'node:crypto'

/** Returns a token of 256 random bits, for a link that nobody guesses. */
export const newLinkToken = (): string => randomBytes(32).toString('base64url')

/** Returns what the database keeps of such a token. */
export const hashLinkToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Tells a text that can be such a token from one that cannot. */
export const isLinkToken = (text: string): boolean => /^[\w-]{43}$/.test(text)
