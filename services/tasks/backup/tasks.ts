import { parseArgs } from 'node:util'
import { copyHeads } from '../../platform/receipts/copy-heads.ts'
import { readEnv } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import { waitForDatabase } from '../../shared/postgres/wait-for-database.ts'
import { sealingKeysEnv } from '../env.ts'
import { PROVE_TASK } from '../prove/task.ts'
import { checkSizes, findBackup, listBackups, readManifest } from './archive.ts'
import type { Archive } from './archive.ts'
import { createBackup, verifyDatabase } from './create-backup.ts'
import { readParts } from './parts.ts'
import { restoreBackup } from './restore-backup.ts'

const out = (line: string): void => void process.stdout.write(`${line}\n`)

async function create(source: EnvSource): Promise<void> {
  const { config, archive, databases, log } = readParts(source)
  const timeoutMs = config.DATABASE_WAIT_SECONDS * 1000
  for (const { address } of databases) await waitForDatabase(address, { timeoutMs, log })
  const { BACKUP_KEEP: keep, BACKUP_VERIFY: verify } = config
  out(await createBackup({ archive, databases, keep, verify, log }))
}

async function copyReceipts(source: EnvSource): Promise<void> {
  const { config, archive, databases, log } = readParts(source)
  const timeoutMs = config.DATABASE_WAIT_SECONDS * 1000
  for (const { name, address } of databases) {
    if (name !== 'main') continue
    await waitForDatabase(address, { timeoutMs, log })
    const sql = connectDatabase(address, { name: 'receipts', max: 1 })
    try {
      log.info(await copyHeads(sql, archive.store, log), 'the heads of receipts are copied')
    } finally {
      await sql.end({ timeout: 5 })
    }
  }
}

async function list(source: EnvSource): Promise<void> {
  const { archive } = readParts(source)
  for (const backup of await listBackups(archive)) {
    const size = `${(backup.bytes / 1e6).toFixed(1)} MB`
    out(`${backup.name}  ${size.padStart(12)}  ${await describe(archive, backup)}`)
  }
}

async function describe(
  archive: Archive,
  backup: Awaited<ReturnType<typeof findBackup>>,
): Promise<string> {
  if (!backup.isWhole) return 'not whole'
  try {
    const { databases, verified } = await readManifest(archive, backup)
    const sizes = databases.map(({ name, rows }) => `${name} ${rows} rows`)
    return `${sizes.join(', ')}; ${verified === 'restore' ? 'restored' : 'read'} and compared`
  } catch (thrown) {
    return toError(thrown).message
  }
}

async function verify(source: EnvSource, args: readonly string[]): Promise<void> {
  const { archive, databases, config, log } = readParts(source)
  const [name = 'latest'] = args
  const backup = await findBackup(archive, name)
  const manifest = await readManifest(archive, backup)
  await checkSizes(archive, backup, manifest)
  for (const database of databases) {
    if (!manifest.databases.some((entry) => entry.name === database.name)) continue
    await verifyDatabase({ archive, verify: config.BACKUP_VERIFY, log }, backup.name, database)
  }
  out(`${backup.name} is whole`)
}

async function restore(source: EnvSource, args: readonly string[]): Promise<void> {
  const { name, isTrial, replaces, only } = readRestoreArguments(args)
  const { archive, databases, log } = readParts(source)
  const wanted = databases.filter((database) => only === undefined || database.name === only)
  const keys = readEnv(sealingKeysEnv, source)
  const plan = { archive, backup: name, databases: wanted, keys, isTrial, replaces, log }
  await restoreBackup({ ...plan, print: out })
}

const RESTORE_USAGE =
  'Usage: backup:restore NAME|latest [--dry-run] [--replace] [--only main|collector]'

function readRestoreArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean', default: false },
        replace: { type: 'boolean', default: false },
        only: { type: 'string' },
      },
    })
    const [name, ...more] = positionals
    const { only } = values
    if (name === undefined || more.length > 0) throw new Error('Give the name of one backup.')
    if (only !== undefined && only !== 'main' && only !== 'collector') {
      throw new Error(`--only is "${only}"; it may be main or collector.`)
    }
    return { name, only, isTrial: values['dry-run'], replaces: values.replace }
  } catch (thrown) {
    throw new AppError('invalid_request', `${toError(thrown).message}\n${RESTORE_USAGE}`)
  }
}

/** The tasks of backups, by their names. */
export const BACKUP_TASKS = {
  'backup:create': {
    summary: 'back both databases up, sealed, and check the backup; see BACKUP_… variables',
    run: create,
  },
  'backup:list': { summary: 'list the backups', run: list },
  'backup:verify': {
    summary: '[NAME]: restore a backup into databases that are dropped afterwards; the newest one',
    run: verify,
  },
  'backup:restore': {
    summary: 'NAME [--dry-run] [--replace] [--only NAME]: restore the databases of a backup',
    run: restore,
  },
  'receipts:copy': {
    summary: 'write the signed heads of receipts to the place of the backups, never over others',
    run: copyReceipts,
  },
  'upgrade:prove': PROVE_TASK,
}
