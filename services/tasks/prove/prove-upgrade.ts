import packageJson from '../../../package.json' with { type: 'json' }
import { listFingerprints } from '../../platform/connections/key-fingerprints.ts'
import { AppError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import { checkSizes, findBackup, readManifest } from '../backup/archive.ts'
import type { Archive, Manifest } from '../backup/archive.ts'
import type { BackupDatabase } from '../backup/create-backup.ts'
import type { DatabaseFigures, Limits, Reason, Verdict } from './figures.ts'
import { CONNECTION_NAME } from './observe.ts'
import { proveDatabase } from './prove-database.ts'
import type { ProgramPlaces, Release } from './prove-database.ts'
import type { ProgramTrial } from './programs.ts'

/** What is rehearsed, and within which limits. */
interface ProofPlan {
  readonly archive: Archive
  /** The name of a backup, or `latest`. */
  readonly backup: string
  /** All of the installation: the main one knows whose backup it is. */
  readonly databases: readonly BackupDatabase[]
  readonly only: BackupDatabase['name'] | undefined
  readonly limits: Limits
  readonly freeBytes: number | undefined
  readonly programs: ProgramPlaces
  readonly log: Log
}

/**
 * Rehearses the upgrade of the databases on a backup. Raises `conflict` for the backup of another
 * installation, and what a damaged backup, a restore and `proveDatabase` raise.
 */
export async function proveUpgrade(plan: ProofPlan): Promise<Verdict> {
  const { archive, databases, only, limits, freeBytes, programs, log } = plan
  const backup = await findBackup(archive, plan.backup)
  const manifest = await readManifest(archive, backup)
  await checkSizes(archive, backup, manifest)
  await checkInstallation(databases, manifest, backup.name)
  const figures: DatabaseFigures[] = []
  const reasons: Reason[] = []
  const trials: [string, Trials][] = []
  for (const database of databases.filter(({ name }) => only === undefined || name === only)) {
    const entry = manifest.databases.find(({ name }) => name === database.name)
    if (!entry) {
      throw new AppError(
        'invalid_request',
        `The backup ${backup.name} has no ${database.name} database. Make a new backup.`,
      )
    }
    const of = { archive, backup: backup.name, entry, limits, freeBytes, programs, log }
    const proved = await proveDatabase(database, of)
    figures.push(proved.figures)
    reasons.push(...proved.reasons)
    trials.push([database.name, proved.trials])
  }
  const isCurrent = figures.every(({ from, to }) => from === to)
  const { createdAt } = manifest
  return {
    format: 'crew-platform-upgrade-verdict/1',
    verdict: reasons.length > 0 ? 'refused' : isCurrent ? 'current' : 'proven',
    at: new Date().toISOString(),
    platform: packageJson.version,
    backup: {
      name: backup.name,
      createdAt,
      ageHours: Math.round((Date.now() - Date.parse(createdAt)) / 36_000) / 100,
    },
    limits,
    databases: figures,
    programs: summarize(trials, 'own'),
    formerPrograms: summarize(trials, 'former'),
    reasons,
  }
}

type Trials = Readonly<Partial<Record<Release, ProgramTrial>>>

function summarize(
  trials: readonly (readonly [string, Trials])[],
  release: Release,
): Verdict['programs'] {
  const done = trials.flatMap(([database, { [release]: trial }]) =>
    trial ? [[database, trial] as const] : [],
  )
  if (done.length === 0) return null
  return {
    schemas: Object.fromEntries(done.map(([database, { schema }]) => [database, schema])),
    tried: done.flatMap(([, { tried }]) => tried),
  }
}

/** By the salts of the fingerprints of its keys, which are of one installation alone. */
async function checkInstallation(
  databases: readonly BackupDatabase[],
  { keys }: Manifest,
  backup: string,
): Promise<void> {
  const main = databases.find(({ name }) => name === 'main')
  if (!main || keys.length === 0) return
  const sql = connectDatabase(main.address, { name: CONNECTION_NAME, max: 1 })
  try {
    const [table] = await sql<{ isThere: boolean }[]>`
      select to_regclass('key_fingerprints') is not null as is_there`
    const own = table?.isThere ? await listFingerprints(sql) : []
    const isKnown = keys.some(({ salt }) => own.some((key) => key.salt.toString('hex') === salt))
    if (isKnown || own.length === 0) return
  } finally {
    await sql.end({ timeout: 5 })
  }
  throw new AppError(
    'conflict',
    `The backup ${backup} is of another installation, or of this one before its keys were ` +
      'changed: no fingerprint of a key is the same. Make a new backup of this one.',
  )
}
