import { randomBytes } from 'node:crypto'
import { isFingerprintOf } from '../../platform/connections/key-fingerprints.ts'
import type { SealingKeyName } from '../../platform/connections/key-fingerprints.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { checkSizes, fileOf, findBackup, readDump, readManifest } from './archive.ts'
import type { Archive, DatabaseEntry, Manifest } from './archive.ts'
import { NOT_RESTORED } from './create-backup.ts'
import type { BackupDatabase } from './create-backup.ts'
import { applyLedger } from './ledger.ts'
import type { LedgerPlan } from './ledger.ts'
import { restoreDatabase } from './restore-database.ts'
import { createTarget, dropTarget, emptyTarget, inspectTarget, takePlace } from './target.ts'
import type { Target } from './target.ts'

/** The sealing keys that the programs will run with, as far as they are known here. */
type GivenKeys = Readonly<Partial<Record<SealingKeyName, string | undefined>>>

/** What is restored, and into what. */
interface RestorePlan {
  readonly archive: Archive
  /** The name of a backup, or `latest`. */
  readonly backup: string
  readonly databases: readonly BackupDatabase[]
  readonly keys: GivenKeys
  /** Say what would be done, and do nothing. */
  readonly isTrial: boolean
  /** Put databases that have tables aside. */
  readonly replaces: boolean
  readonly log: Log
  readonly print: (line: string) => void
}

interface Step {
  readonly entry: DatabaseEntry
  readonly database: BackupDatabase
  readonly target: Target
}

/**
 * Restores the databases of a backup: into those that are missing or empty, or in the place of
 * others, which are renamed and kept. What was erased since is erased there as well. All is checked
 * before anything changes. Raises `invalid_configuration` for keys that do not open what is sealed,
 * `conflict` for a database in use, and what a damaged backup raises.
 */
export async function restoreBackup(plan: RestorePlan): Promise<void> {
  const { archive, print } = plan
  const backup = await findBackup(archive, plan.backup)
  const manifest = await readManifest(archive, backup)
  await checkSizes(archive, backup, manifest)
  const steps = await listSteps(plan, manifest)
  describeBackup(backup.name, manifest, print)
  for (const name of manifest.keys
    .map(({ name }) => name)
    .filter((name) => plan.keys[name] === undefined)) {
    print(`${name} is not given, and not compared with the backup`)
  }
  for (const step of steps) print(describeStep(step, plan))
  refuseKeys(plan, manifest)
  for (const step of steps) refuseUse(step, plan)
  if (plan.isTrial) return print('This was a trial: nothing was changed.')
  for (const step of steps) await restore(plan, backup.name, step)
}

async function listSteps(
  { databases }: RestorePlan,
  { databases: entries }: Manifest,
): Promise<Step[]> {
  const steps: Step[] = []
  for (const database of databases) {
    const entry = entries.find(({ name }) => name === database.name)
    if (entry) steps.push({ entry, database, target: await inspectTarget(database.address) })
  }
  if (steps.length > 0) return steps
  throw new AppError('invalid_request', 'The backup has none of the databases that were asked for.')
}

function describeBackup(
  name: string,
  { createdAt, verified, references }: Manifest,
  print: RestorePlan['print'],
): void {
  const how = verified === 'restore' ? 'restored' : 'read'
  print(`Backup ${name}, begun ${createdAt}, ${how} and compared when it was made`)
  for (const image of references.images) print(`  refers to the image ${image}`)
  for (const repository of references.repositories) {
    print(`  refers to the repository ${repository}`)
  }
}

function describeStep({ entry, database, target }: Step, { replaces }: RestorePlan): string {
  const { host, port, database: name } = database.address
  const what = `${entry.rows} rows of ${entry.tables} tables, schema ${entry.schemaVersion}`
  const place = `${name} at ${host}:${port}`
  if (target.state === 'missing') return `${entry.name}: create ${place} with ${what}`
  if (target.state === 'empty') return `${entry.name}: fill the empty ${place} with ${what}`
  const users = target.programs.length === 0 ? 'no program' : target.programs.join(', ')
  const has = `it has ${target.tables} tables, and ${users} is connected`
  if (!replaces) return `${entry.name}: ${place} is not empty: ${has}`
  return `${entry.name}: rename ${place} and put ${what} in its place; ${has}`
}

function refuseKeys({ keys }: RestorePlan, manifest: Manifest): void {
  for (const { name, salt, fingerprint } of manifest.keys) {
    const key = keys[name]
    const recorded = {
      salt: Buffer.from(salt, 'hex'),
      fingerprint: Buffer.from(fingerprint, 'hex'),
    }
    if (key === undefined || isFingerprintOf(recorded, key)) continue
    throw new AppError(
      'invalid_configuration',
      `${name} is not the key that the databases of this backup were sealed with: what it sealed ` +
        'could not be read after the restore. Put the key of then into the Secret first; the ' +
        `backup has none. To restore without it all the same, leave ${name} out, and run the ` +
        `task "keys:accept ${name}" afterwards.`,
      { details: { variables: [name] } },
    )
  }
}

function refuseUse({ database, target }: Step, { replaces }: RestorePlan): void {
  const { database: name } = database.address
  if (target.state !== 'used') return
  if (!replaces) {
    throw new AppError(
      'conflict',
      `The database ${name} has ${target.tables} tables. Restore into an empty or a new one, or ` +
        'put it aside with --replace.',
    )
  }
  if (target.programs.length === 0) return
  throw new AppError(
    'conflict',
    `The database ${name} is in use by: ${target.programs.join(', ')}. Stop them first, such as ` +
      'with "kubectl scale deployment --replicas=0", and try again.',
  )
}

async function restore(
  plan: RestorePlan,
  backup: string,
  { database, target }: Step,
): Promise<void> {
  const { address, name } = database
  const stamp = randomBytes(4).toString('hex')
  const restored = `${address.database.slice(0, 40)}_restored_${stamp}`
  if (target.state === 'empty') {
    await fill(plan, { backup, former: undefined }, database).catch(async (thrown: unknown) => {
      await emptyTarget(address)
      throw thrown
    })
  } else {
    const made = target.state === 'missing' ? address.database : restored
    await createTarget(address, made)
    try {
      const former = target.state === 'used' ? address : undefined
      const filled = { ...database, address: { ...address, database: made } }
      await fill(plan, { backup, former }, filled)
      if (target.state === 'used') {
        const aside = `${address.database.slice(0, 40)}_before_${stamp}`
        await takePlace(address, { restored, former: aside })
        plan.print(`${name}: the former database is ${aside}; drop it once it is not needed`)
      }
    } catch (thrown) {
      await dropTarget(address, made)
      throw thrown
    }
  }
  plan.print(`${name}: restored`)
}

async function fill(
  { archive, log, print }: RestorePlan,
  { backup, former }: Pick<LedgerPlan, 'backup' | 'former'>,
  { name, address, migrations }: BackupDatabase,
): Promise<void> {
  const path = fileOf(backup, name)
  const source = { dump: readDump(archive, path), migrations, name: path, log }
  const { differences, contents: _, ...size } = await restoreDatabase(address, source)
  if (differences.length > 0) log.warn({ database: name, differences }, NOT_RESTORED)
  log.info({ database: name, ...size }, 'database restored and compared')
  await applyLedger({ name, address, migrations }, { archive, backup, former, log, print })
}
