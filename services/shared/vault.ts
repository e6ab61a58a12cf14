import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Sealed: version (1) · key id (8) · nonce (12) · ciphertext · tag (16). */
const VERSION = 1
const HEADER_BYTES = 9
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OVERHEAD_BYTES = HEADER_BYTES + NONCE_BYTES + TAG_BYTES

/** A secret that was opened. */
export interface Opened {
  readonly secret: string
  /** False: it was sealed with the previous key, and should be sealed again. */
  readonly isCurrent: boolean
}

/**
 * Seals secrets for the database with AES-256-GCM. A secret that is sealed for one place does not
 * open at another.
 */
interface Vault {
  seal(secret: string, place: string): Buffer
  /** Undefined when the secret was changed, moved, or sealed with another key. */
  open(sealed: Buffer, place: string): Opened | undefined
}

/** The texts that a vault derives its keys from. */
interface VaultKeys {
  /** The kind of secrets; other labels make other keys of the same text. */
  readonly label: string
  /** A text of the operator's; the key is derived from it. */
  readonly current: string
  /** Still opens what it sealed. */
  readonly previous?: string | undefined
}

interface Key {
  readonly header: Buffer
  readonly bytes: Buffer
}

/** A vault that seals with the current key, and also opens what the previous one sealed. */
export function createVault({ label, current, previous }: VaultKeys): Vault {
  const currentKey = deriveKey(label, current)
  const keys = [currentKey, ...(previous === undefined ? [] : [deriveKey(label, previous)])]
  return {
    seal: (secret, place) => encrypt(currentKey, secret, place),
    open(sealed, place) {
      const header = sealed.subarray(0, HEADER_BYTES)
      const key = keys.find((each) => each.header.equals(header))
      const secret =
        key && sealed.length >= OVERHEAD_BYTES ? decrypt(key, sealed, place) : undefined
      return secret === undefined ? undefined : { secret, isCurrent: key === currentKey }
    },
  }
}

/** Seals secrets of one kind, each for what it belongs to. */
export interface Seals<Owner> {
  seal(secret: string, owner: Owner): Buffer
  /** Undefined when it was changed, sealed with another key, or for another owner. */
  open(sealed: Buffer, owner: Owner): string | undefined
  /** Returns the secret sealed anew when it was sealed with the previous key. */
  reseal(sealed: Buffer, owner: Owner): Buffer | undefined
}

/**
 * Returns what creates the seals of a kind of secrets from the operator's key, and from the
 * previous one while it is rotated. `placeOf` names the owner of a secret.
 */
export const sealsOf =
  <Owner>(label: string, placeOf: (owner: Owner) => string) =>
  (current: string, previous?: string): Seals<Owner> => {
    const vault = createVault({ label, current, previous })
    return {
      seal: (secret, owner) => vault.seal(secret, placeOf(owner)),
      open: (sealed, owner) => vault.open(sealed, placeOf(owner))?.secret,
      reseal(sealed, owner) {
        const opened = vault.open(sealed, placeOf(owner))
        if (!opened || opened.isCurrent) return undefined
        return vault.seal(opened.secret, placeOf(owner))
      },
    }
  }

/** The id tells which key sealed a secret; like the key it is derived from the operator's text. */
function deriveKey(label: string, text: string): Key {
  const derive = (info: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', text, '', info, bytes))
  const id = derive(`${label} id`, HEADER_BYTES - 1)
  return { header: Buffer.concat([Buffer.from([VERSION]), id]), bytes: derive(label, 32) }
}

const bindingOf = ({ header }: Key, place: string): Buffer =>
  Buffer.concat([header, Buffer.from(place)])

function encrypt(key: Key, secret: string, place: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(bindingOf(key, place))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([key.header, nonce, text, cipher.getAuthTag()])
}

function decrypt(key: Key, sealed: Buffer, place: string): string | undefined {
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
