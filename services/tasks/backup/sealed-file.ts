import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import { createByteReader } from '../../shared/object-store/byte-reader.ts'

/**
 * A file that only the passphrase opens: a header, then pieces of one size, each with a tag. The
 * number of a piece and whether it is the last one are in its nonce, so that a piece that was
 * changed, moved, or left out does not open, and neither does a file that was cut.
 *
 * Header: magic (8) · log2 of scrypt's N (1) · salt (16) · id of the file (16) · check of the key
 * (16).
 */
const MAGIC = Buffer.from('CREWBAK1')
const SALT_BYTES = 16
const ID_BYTES = 16
const CHECK_BYTES = 16
const HEADER_BYTES = MAGIC.length + 1 + SALT_BYTES + ID_BYTES + CHECK_BYTES
const PIECE_BYTES = 256 * 1024
const TAG_BYTES = 16
/** 64 MiB of memory and some 200 ms. */
const SCRYPT_LOG2_N = 16
const SCRYPT_MAX_LOG2_N = 18
const SCRYPT_BLOCK = 8

/** Derives keys of a passphrase, once for each salt. */
export interface Passphrase {
  /** The salt of the files that this program writes. */
  readonly salt: Buffer
  derive(salt: Buffer, log2N: number): Promise<Buffer>
}

/** Takes the passphrase of backups. */
export function createPassphrase(text: string): Passphrase {
  const keys = new Map<string, Promise<Buffer>>()
  return {
    salt: randomBytes(SALT_BYTES),
    derive(salt, log2N) {
      const name = `${log2N}:${salt.toString('hex')}`
      const known = keys.get(name) ?? stretch(text, salt, log2N)
      keys.set(name, known)
      return known
    },
  }
}

function stretch(text: string, salt: Buffer, log2N: number): Promise<Buffer> {
  const cost = 2 ** log2N
  const options = { N: cost, r: SCRYPT_BLOCK, p: 1, maxmem: 256 * cost * SCRYPT_BLOCK }
  return new Promise((resolve, reject) => {
    scrypt(text.normalize('NFC'), salt, 32, options, (error, key) => {
      if (error) reject(error)
      else resolve(key)
    })
  })
}

interface FileKey {
  readonly header: Buffer
  readonly key: Buffer
}

/** The key of one file, and the check that tells a wrong passphrase from a damaged file. */
function keysOf(stretched: Buffer, head: Buffer): { key: Buffer; check: Buffer } {
  const derive = (info: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', stretched, head, `crew-platform backup ${info}`, bytes))
  return { key: derive('file', 32), check: derive('check', CHECK_BYTES) }
}

/** Seals a stream of bytes, a piece at a time. */
export async function* sealFile(
  source: AsyncIterable<Buffer>,
  passphrase: Passphrase,
): AsyncGenerator<Buffer> {
  const head = Buffer.concat([
    MAGIC,
    Buffer.from([SCRYPT_LOG2_N]),
    passphrase.salt,
    randomBytes(ID_BYTES),
  ])
  const stretched = await passphrase.derive(passphrase.salt, SCRYPT_LOG2_N)
  const { key, check } = keysOf(stretched, head)
  const file = { header: Buffer.concat([head, check]), key }
  yield file.header
  const reader = createByteReader(source)
  for (let number = 0, isLast = false; !isLast; number++) {
    const piece = await reader.upTo(PIECE_BYTES)
    isLast = await reader.isAtEnd()
    yield sealPiece(file, piece, nonceOf(number, isLast))
  }
}

function sealPiece({ header, key }: FileKey, piece: Buffer, nonce: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(header)
  return Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()])
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(Math.floor(number / 2 ** 32), 3)
  nonce.writeUInt32BE(number % 2 ** 32, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/**
 * Opens a sealed file, a piece at a time; each was checked before it is handed on. `name` is for
 * messages. Raises `invalid_request` for a wrong passphrase and for a file that was damaged or cut.
 */
export async function* openFile(
  source: AsyncIterable<Buffer>,
  passphrase: Passphrase,
  name: string,
): AsyncGenerator<Buffer> {
  const reader = createByteReader(source)
  const file = await readHeader(await reader.upTo(HEADER_BYTES), passphrase, name)
  for (let number = 0, isLast = false; !isLast; number++) {
    const sealed = await reader.upTo(PIECE_BYTES + TAG_BYTES)
    isLast = await reader.isAtEnd()
    const piece = openPiece(file, sealed, nonceOf(number, isLast))
    if (!piece) throw isLast ? cut(name) : damaged(name)
    yield piece
  }
}

async function readHeader(header: Buffer, passphrase: Passphrase, name: string): Promise<FileKey> {
  if (!header.subarray(0, MAGIC.length).equals(MAGIC.subarray(0, header.length))) {
    throw new AppError('invalid_request', `${name} is no backup of this platform.`)
  }
  if (header.length < HEADER_BYTES) throw cut(name)
  const log2N = header[MAGIC.length] ?? 0
  if (log2N < 1 || log2N > SCRYPT_MAX_LOG2_N) throw damaged(name)
  const head = header.subarray(0, HEADER_BYTES - CHECK_BYTES)
  const salt = head.subarray(MAGIC.length + 1, MAGIC.length + 1 + SALT_BYTES)
  const stretched = await passphrase.derive(Buffer.from(salt), log2N)
  const { key, check } = keysOf(stretched, head)
  if (!timingSafeEqual(check, header.subarray(-CHECK_BYTES))) {
    throw new AppError(
      'invalid_request',
      `${name} does not open with this passphrase. Give the one that BACKUP_PASSPHRASE was when ` +
        'the backup was made. (The first 57 bytes of a damaged file look the same.)',
    )
  }
  return { header, key }
}

function openPiece({ header, key }: FileKey, sealed: Buffer, nonce: Buffer): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(header)
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}

const cut = (name: string): AppError =>
  new AppError('invalid_request', `${name} is damaged, or its end is missing. ${ELSEWHERE}`)

const damaged = (name: string): AppError =>
  new AppError('invalid_request', `${name} is damaged: bytes were changed or lost. ${ELSEWHERE}`)

const ELSEWHERE = 'Use another backup, or another copy of this one.'
