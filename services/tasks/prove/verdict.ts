import { createHash, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import * as v from 'valibot'
import {
  isSignedWith,
  publicKeySchema,
  signatureSchema,
  signDocument,
} from '../../shared/signed-documents.ts'
import type { Passphrase } from '../backup/sealed-file.ts'
import type { DatabaseFigures, MigrationFigures, Verdict } from './figures.ts'
import { seconds, strongestOf } from './judge.ts'

/** A verdict with the signature of it, in canonical JSON, by a key of Ed25519. */
interface SignedVerdict {
  readonly verdict: Verdict
  /** SubjectPublicKeyInfo in hexadecimal digits. */
  readonly key: string
  readonly signature: string
}

/** Signs a verdict with the key that derives from the passphrase of the backups. */
export async function signVerdict(verdict: Verdict, by: Passphrase): Promise<SignedVerdict> {
  const key = await keyOf(by)
  return { verdict, key: publicOf(key), signature: signDocument(verdict, key) }
}

const signed = v.strictObject({
  verdict: v.looseObject({ format: v.literal('crew-platform-upgrade-verdict/1') }),
  key: publicKeySchema,
  signature: signatureSchema,
})

/** Returns true for a signed verdict, unchanged, of those who have the passphrase. */
export async function isSignedVerdict(document: unknown, by: Passphrase): Promise<boolean> {
  const { success, output } = v.safeParse(signed, document)
  const key = await verdictKey(by)
  return success && output.key === key && isSignedWith(output.verdict, output.signature, key)
}

/** Returns the public key of the verdicts, which derives from the passphrase. */
export const verdictKey = async (by: Passphrase): Promise<string> => publicOf(await keyOf(by))

const LABEL = 'crew-platform upgrade verdict'
/** 64 MiB of memory: the public key tells who guesses no more than a backup does. */
const SCRYPT_LOG2_N = 16
/** Of a private key of Ed25519 in PKCS #8, before its 32 bytes. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

async function keyOf(passphrase: Passphrase): Promise<KeyObject> {
  const salt = createHash('sha256').update(LABEL).digest().subarray(0, 16)
  const stretched = await passphrase.derive(salt, SCRYPT_LOG2_N)
  const seed = Buffer.from(hkdfSync('sha256', stretched, salt, `${LABEL} key`, 32))
  const der = Buffer.concat([PKCS8_HEAD, seed])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

const publicOf = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('hex')

const TITLES = {
  proven: 'Proven: the upgrade worked on the data of this backup.',
  refused: 'Refused: do not upgrade before the reasons below are met.',
  current: 'Nothing is pending: the databases have the schema of this version.',
}

/** Writes a verdict as text for people. */
export function renderVerdict({ verdict, key, signature }: SignedVerdict): string {
  const { backup, databases, reasons, platform, programs, formerPrograms } = verdict
  const age = `${backup.ageHours.toFixed(1)} hours old`
  const isTried = databases.some(({ rehearsal }) => rehearsal !== null)
  const whyNot = isTried ? 'they are not beside this one' : 'nothing is pending'
  return [
    TITLES[verdict.verdict],
    `Platform ${platform}, backup ${backup.name} (${age})`,
    ...databases.flatMap((database) => ['', ...describeDatabase(database)]),
    '',
    `Programs of this release: ${describeTries(programs, whyNot)}`,
    `Former programs: ${describeTries(formerPrograms, 'they were not given (--former-programs)')}`,
    ...(reasons.length > 0 ? ['', 'Reasons:'] : []),
    ...reasons.map(
      ({ database, migration, text }) =>
        `- ${[database, migration].filter((part) => part !== null).join(', ')}: ${text}`,
    ),
    '',
    `Signed ${verdict.at} with ${key.slice(-16)}: ${signature.slice(0, 16)}…`,
    '',
  ].join('\n')
}

const describeTries = (found: Verdict['programs'], why: string): string =>
  found
    ? `${found.tried.length} tries of ${Object.keys(found.schemas).join(', ')}`
    : `not tried, because ${why}`

function describeDatabase({ name, from, to, rehearsal }: DatabaseFigures): string[] {
  if (!rehearsal) return [`${name}: schema ${from}, nothing is pending`]
  const { bytes, restoredMs, room, migrations, tables } = rehearsal
  const rows = tables.reduce((sum, { rowsBefore }) => sum + rowsBefore, 0)
  const free = room.freeBytes === null ? 'the server does not say' : megabytes(room.freeBytes)
  return [
    `${name}: schema ${from} to ${to}`,
    `  restored ${rows} rows of ${tables.length} tables, ${megabytes(bytes)}, in ` +
      `${seconds(restoredMs)}; free: ${free}, of ${megabytes(room.neededBytes)} needed`,
    ...migrations.flatMap(describeMigration),
    ...tables
      .filter(({ before, after, rowsAfter }) => before !== after && rowsAfter !== null)
      .map(
        ({ table, rowsBefore, rowsAfter }) =>
          `  rows of ${table} differ: ${rowsBefore} before, ${rowsAfter} after`,
      ),
  ]
}

function describeMigration(migration: MigrationFigures): string[] {
  const { name, isContract, ms, locks, losses, failure } = migration
  const marks = `${isContract ? ' (contract)' : ''}${failure === null ? '' : ' (failed)'}`
  const [log, growth, peak] = [migration.walBytes, migration.growthBytes, migration.peakBytes]
  return [
    `  ${name}${marks}: ${seconds(ms)}, log ${megabytes(log)}, growth ${megabytes(growth)} ` +
      `(${megabytes(peak)} at most)`,
    ...strongestOf(locks).map(
      ({ table, mode, heldMs, waiting }) =>
        `    ${mode} on ${table} for ${seconds(heldMs)}` +
        (waiting.length > 0 ? `; waiting: ${waiting.join(', ')}` : '; idle'),
    ),
    ...losses.map(
      ({ table, kind, column }) =>
        `    ${kind.replace('_', ' ')}: ${table}${column === undefined ? '' : `.${column}`}`,
    ),
  ]
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
