import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { AppError } from '../shared/errors.ts'

const schema = v.object({
  secretKeyBase: v.pipe(v.string(), v.minLength(32)),
  debugToken: v.pipe(v.string(), v.minLength(32)),
  collectorJwtSecret: v.pipe(v.string(), v.minLength(32)),
  oauthApiKey: v.pipe(v.string(), v.minLength(32)),
  oauthEncryptionKey: v.pipe(v.string(), v.minLength(32)),
  adminPassword: v.pipe(v.string(), v.minLength(12)),
  /** Of the embedded PostgreSQL. */
  databasePassword: v.pipe(v.string(), v.regex(/^[\w-]{16,}$/)),
  /** Issued when the database is seeded; the database itself holds only its hash. */
  staticToken: v.optional(v.string()),
})

/** The keys of the platform Secret, here in a file that only its owner can read. */
export type LocalSecrets = v.InferOutput<typeof schema>

const fileIn = (directory: string): string => join(directory, 'secrets.json')

/**
 * Reads the secrets of a data directory; makes them on first use. Raises `invalid_configuration`
 * for a damaged file.
 */
export async function readSecrets(directory: string): Promise<LocalSecrets> {
  const file = fileIn(directory)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return writeSecrets(directory, newSecrets())
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text)
  if (result.success) return result.output
  throw new AppError(
    'invalid_configuration',
    `${file} is damaged. Move the directory ${directory} elsewhere to start afresh, or choose ` +
      'another with --data.',
  )
}

/** Writes the secrets, readable by their owner only. */
export async function writeSecrets(
  directory: string,
  secrets: LocalSecrets,
): Promise<LocalSecrets> {
  await mkdir(directory, { recursive: true })
  const file = fileIn(directory)
  await writeFile(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  // The mode above is for a new file only.
  await chmod(file, 0o600)
  return secrets
}

function newSecrets(): LocalSecrets {
  return {
    secretKeyBase: randomBytes(64).toString('hex'),
    debugToken: randomBytes(32).toString('hex'),
    collectorJwtSecret: randomBytes(32).toString('hex'),
    oauthApiKey: randomBytes(32).toString('hex'),
    oauthEncryptionKey: randomBytes(32).toString('hex'),
    adminPassword: randomBytes(12).toString('base64url'),
    databasePassword: randomBytes(32).toString('hex'),
  }
}
