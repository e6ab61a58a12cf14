import {
  listKeysInUse,
  LOSSES,
  SEALING_KEY_NAMES,
} from '../platform/connections/key-fingerprints.ts'
import type { SealingKeyName } from '../platform/connections/key-fingerprints.ts'
import { AppError, toError } from '../shared/errors.ts'
import type { Kubernetes } from '../shared/kubernetes/client.ts'
import type { Log } from '../shared/log.ts'
import { databaseAddress } from '../shared/postgres/address.ts'
import type { DatabaseAddress } from '../shared/postgres/address.ts'
import { connectDatabase } from '../shared/postgres/database.ts'
import { waitForDatabase } from '../shared/postgres/wait-for-database.ts'
import type { BootstrapConfig } from './env.ts'
import { listRunning } from './secret-readers.ts'

const WAIT_SECONDS = 10

interface MadeKeys {
  /** The keys for which there is no value anywhere. */
  readonly made: readonly string[]
  /** The password of the database, where one is known. */
  readonly password: string | undefined
  readonly log: Log
}

/**
 * Refuses to make a key anew that the database is sealed with, or, while nobody can ask it, that a
 * running pod may have. A wrong key would not destroy anything, as each pod checks its key against
 * the database before it starts; but pods that have the right one would be replaced. Raises
 * `invalid_configuration` with what to do.
 */
export async function refuseLostKeys(
  kubernetes: Kubernetes,
  config: BootstrapConfig,
  { made, password, log }: MadeKeys,
): Promise<void> {
  const missing = SEALING_KEY_NAMES.filter((name) => made.includes(name))
  if (missing.length === 0) return
  const running = await listRunning(kubernetes, config)
  const asked = await askDatabase(config, { password, running, log })
  if (asked.inUse) {
    const lost = missing.filter((name) => asked.inUse.includes(name))
    if (lost.length > 0) throw lostKeys(config, lost, 'the database is sealed with')
  } else if (running.length > 0) {
    const why = `${running[0]} runs with, and the database cannot be asked (${asked.reason})`
    throw lostKeys(config, missing, `${why}:`)
  } else {
    log.info({ reason: asked.reason }, 'the database was not asked for sealed data')
  }
}

type Answer =
  | { readonly inUse: readonly SealingKeyName[] }
  | { readonly inUse?: never; readonly reason: string }

interface Question extends Pick<MadeKeys, 'password' | 'log'> {
  readonly running: readonly string[]
}

async function askDatabase(
  config: BootstrapConfig,
  { password, running, log }: Question,
): Promise<Answer> {
  const needsPassword = config.PLATFORM_SECRET_KEYS.includes('DB_PASSWORD')
  const { RESTART_POSTGRES: postgres } = config
  if (config.DATABASE_URL === undefined && config.DB_HOST === undefined) {
    return { reason: 'this task was given no address' }
  }
  if (postgres !== undefined && !running.includes(postgres)) {
    return { reason: `${postgres} does not run yet` }
  }
  if (needsPassword && password === undefined) return { reason: 'DB_PASSWORD is lost too' }
  const address = databaseAddress({
    ...config,
    DB_PASSWORD: password ?? config.DB_PASSWORD,
  })
  const timeoutMs = (config.DATABASE_WAIT_SECONDS ?? WAIT_SECONDS) * 1000
  try {
    await waitForDatabase(address, { timeoutMs, log })
    return { inUse: await readKeysInUse(address) }
  } catch (thrown) {
    return { reason: toError(thrown).message }
  }
}

async function readKeysInUse(address: DatabaseAddress): Promise<SealingKeyName[]> {
  const sql = connectDatabase(address, { name: 'bootstrap', max: 1 })
  try {
    return await listKeysInUse(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function lostKeys(
  config: BootstrapConfig,
  lost: readonly SealingKeyName[],
  whoNeedsThem: string,
): AppError {
  const { PLATFORM_SECRET: secret, PLATFORM_SECRET_KEPT: kept } = config
  const kubectl = `kubectl -n ${config.POD_NAMESPACE}`
  const losses = lost.map((name) => `${name} (${LOSSES[name]})`).join(' and ')
  const lines = lost.flatMap((name) => [
    `  ${kubectl} exec deployment/${readerOf(config, name)} -- printenv ${name}`,
    `  ${kubectl} patch secret ${secret} --type merge -p '{"stringData":{"${name}":"THE-KEY"}}'`,
  ])
  return new AppError(
    'invalid_configuration',
    [
      `The Secrets ${secret} and ${kept} have lost keys that ${whoNeedsThem} ${losses}.`,
      'No key was made, and nothing was written or restarted. Put each key back, from a pod that ' +
        'still runs with it or from a backup of these Secrets:',
      ...lines,
      'This Job then ends well at its next attempt, or with the next upgrade. To give up what a ' +
        `key sealed, run the task "keys:accept ${lost[0]}".`,
    ].join('\n'),
    { details: { variables: lost } },
  )
}

/** A Deployment whose pods have the key. */
function readerOf({ RESTART_DEPLOYMENTS: names }: BootstrapConfig, key: SealingKeyName): string {
  const reader = key === 'OAUTH_ENCRYPTION_KEY' ? names.find((name) => name.endsWith('-oauth')) : ''
  return reader || names[0] || 'web'
}
