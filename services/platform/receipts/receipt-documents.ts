import { createHmac } from 'node:crypto'
import * as v from 'valibot'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { publicKeySchema, signatureSchema as signature } from '../../shared/signed-documents.ts'
import { sha256 } from './merkle-tree.ts'

/** The deepest tree whose size is a number of JSON. */
const PROOF_MAX = 53
const KEYS_MAX = 1000

/** One form only: other digits for the same bytes would be another file. */
const hex = (bytes: number) => v.pipe(v.string(), v.regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`)))
const hash = hex(32)
const size = v.pipe(v.number(), v.safeInteger(), v.minValue(1))
const moment = v.pipe(v.string(), v.isoTimestamp())

const treeHead = v.strictObject({
  format: v.literal('crew-platform-tree-head/1'),
  log: v.pipe(v.string(), v.uuid()),
  size,
  root: hash,
  at: moment,
  previous: v.nullable(hash),
  key: hash,
})
const signedHead = v.strictObject({ head: treeHead, signature })

const succession = v.strictObject({
  format: v.literal('crew-platform-key-succession/1'),
  log: v.pipe(v.string(), v.uuid()),
  key: publicKeySchema,
  previous: v.nullable(publicKeySchema),
  at: moment,
})
const statedKey = v.strictObject({ statement: succession, signature: v.nullable(signature) })

/** What is signed each hour: the size and the root of the tree. */
export type TreeHead = v.InferOutput<typeof treeHead>
/** A head with its signature. */
export type SignedHead = v.InferOutput<typeof signedHead>
/** A key, and the signature of the key before on what says so. */
export type StatedKey = v.InferOutput<typeof statedKey>

/** Parses a signed head, as the API and the log have it. */
export const signedHeadSchema = signedHead
/** Parses the proof that one head continues another. */
export const consistencySchema = v.strictObject({
  format: v.literal('crew-platform-consistency/1'),
  first: signedHead,
  second: signedHead,
  proof: v.pipe(v.array(hash), v.maxLength(2 * PROOF_MAX)),
  keys: v.pipe(v.array(statedKey), v.maxLength(KEYS_MAX)),
})
const person = v.record(v.string(), v.nullable(v.string()))

/** Parses a receipt. Of the leaf, only what the verification reads is looked at. */
export const receiptSchema = v.strictObject({
  format: v.literal('crew-platform-receipt/1'),
  leaf: v.looseObject({ kind: v.string(), id: v.string() }),
  index: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  proof: v.pipe(v.array(hash), v.maxLength(PROOF_MAX)),
  ...signedHead.entries,
  keys: v.pipe(v.array(statedKey), v.maxLength(KEYS_MAX)),
  opened: v.nullable(
    v.strictObject({
      salt: hash,
      // of a run
      starter: v.optional(v.nullable(person)),
      // of an entry of the audit
      actor: v.optional(person),
      facts: v.optional(v.record(v.string(), v.unknown())),
    }),
  ),
})

/** A receipt: a leaf, the proof that it is in the tree, and a signed head. */
export type Receipt = v.InferOutput<typeof receiptSchema>
/** The proof that one head continues another. */
export type Consistency = v.InferOutput<typeof consistencySchema>

/** Returns the salted hash of a value in a leaf, of which the name tells what it is. */
export const saltedHash = (salt: Buffer, name: string, value: unknown): string =>
  createHmac('sha256', salt)
    .update(canonicalJson([name, value]))
    .digest('hex')

/** Returns the SHA-256 of a document in canonical JSON. */
export const digestOf = (document: unknown): string =>
  sha256(canonicalJson(document)).toString('hex')

/** Returns the name of a public key in heads. */
export const keyId = (spki: string): string => sha256(Buffer.from(spki, 'hex')).toString('hex')
