import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { AppError } from '../shared/errors.ts'

/** Sealed: version (1) · key id (8) · nonce (12) · ciphertext · tag (16). */
const VERSION = 1
const HEADER_BYTES = 9
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OVERHEAD_BYTES = HEADER_BYTES + NONCE_BYTES + TAG_BYTES

/** Where a secret belongs: sealed for one place, it does not open at another. */
export interface Place {
  readonly connectionId: string
  readonly field: 'access_token' | 'refresh_token' | 'code_verifier'
}

export interface Opened {
  readonly secret: string
  /** False: it was sealed with the previous key, and should be sealed again. */
  readonly isCurrent: boolean
}

/** Seals secrets for the database with AES-256-GCM. */
export interface Vault {
  seal(secret: string, place: Place): Buffer
  /** Raises `internal` when the secret was changed, moved, or sealed with another key. */
  open(sealed: Buffer, place: Place): Opened
}

interface Key {
  readonly header: Buffer
  readonly bytes: Buffer
}

/** A vault that seals with the current key, and also opens what the previous one sealed. */
export function createVault(current: string, previous?: string): Vault {
  const currentKey = deriveKey(current)
  const keys = [currentKey, ...(previous === undefined ? [] : [deriveKey(previous)])]
  return {
    seal: (secret, place) => encrypt(currentKey, secret, place),
    open(sealed, place) {
      const header = sealed.subarray(0, HEADER_BYTES)
      const key = keys.find((each) => each.header.equals(header))
      const secret =
        key && sealed.length >= OVERHEAD_BYTES ? decrypt(key, sealed, place) : undefined
      if (secret === undefined) throw unreadable(place)
      return { secret, isCurrent: key === currentKey }
    },
  }
}

/** The id tells which key sealed something; like the key it is derived one way from the operator's text. */
function deriveKey(text: string): Key {
  const derive = (info: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', text, '', info, bytes))
  const id = derive('crew-platform oauth token key id', HEADER_BYTES - 1)
  return {
    header: Buffer.concat([Buffer.from([VERSION]), id]),
    bytes: derive('crew-platform oauth token key', 32),
  }
}

const bindingOf = ({ header }: Key, { connectionId, field }: Place): Buffer =>
  Buffer.concat([header, Buffer.from(`${connectionId}/${field}`)])

function encrypt(key: Key, secret: string, place: Place): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(bindingOf(key, place))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([key.header, nonce, text, cipher.getAuthTag()])
}

function decrypt(key: Key, sealed: Buffer, place: Place): string | undefined {
  const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES)
  const text = sealed.subarray(HEADER_BYTES + NONCE_BYTES, -TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(bindingOf(key, place))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return decipher.update(text, undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

function unreadable({ connectionId, field }: Place): AppError {
  return new AppError(
    'internal',
    `The ${field} of connection ${connectionId} can not be decrypted: it was sealed with a key that is neither OAUTH_ENCRYPTION_KEY nor OAUTH_ENCRYPTION_KEY_PREVIOUS, or it was changed. Put the key back, or authorize the connection again.`,
    { details: { code: 'tokens_unreadable', connection_id: connectionId } },
  )
}
