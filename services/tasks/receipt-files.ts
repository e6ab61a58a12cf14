import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { signedHeadSchema } from '../platform/receipts/receipt-documents.ts'
import type { SignedHead } from '../platform/receipts/receipt-documents.ts'
import { AppError, toError } from '../shared/errors.ts'
import { publicKeySchema } from '../shared/signed-documents.ts'

/** Reads a head as the API, a bucket, a line of a worker's log or a webhook has it. */
export const findHead = (text: string): SignedHead | undefined =>
  parse(v.union([signedHeadSchema, logLine, message]), text)

/** A line of a worker's log, and the message of a webhook. */
const logLine = v.pipe(
  v.looseObject({ receipt_head: signedHeadSchema }),
  v.transform(({ receipt_head: head }) => head),
)
const message = v.pipe(
  v.looseObject({ data: v.looseObject(signedHeadSchema.entries) }),
  v.transform(({ data }) => data),
)

/** Reads a public key that is given in its digits, or by a file in PEM. */
export function readKey(given: string): string {
  if (v.safeParse(publicKeySchema, given).success) return given
  try {
    const key = createPublicKey(readFile(given))
    if (key.asymmetricKeyType === 'ed25519') {
      return key.export({ format: 'der', type: 'spki' }).toString('hex')
    }
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
  }
  throw new AppError('invalid_request', `${given} is not a public key of Ed25519 in PEM.`)
}

/** Reads a file. Raises `invalid_request`. */
export function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw new AppError('invalid_request', `${path} cannot be read: ${toError(thrown).message}`)
  }
}

/** Parses JSON; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses JSON by a schema; undefined for what is not of it. */
export function parse<Schema extends v.GenericSchema>(
  schema: Schema,
  text: string,
): v.InferOutput<Schema> | undefined {
  const result = v.safeParse(schema, parseJson(text))
  return result.success ? result.output : undefined
}
