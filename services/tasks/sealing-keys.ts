import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import {
  checkSealingKey,
  forgetSealingKey,
  SEALING_KEY_NAMES,
} from '../platform/connections/key-fingerprints.ts'
import type { Database } from '../shared/postgres/database.ts'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import { sealingKeysEnv } from './env.ts'

/**
 * Refuses a key that is not the one that the database was sealed with; keys that are not given are
 * not looked at.
 */
export async function checkSealingKeys(sql: Database, source: EnvSource): Promise<void> {
  const given = readEnv(sealingKeysEnv, source)
  for (const name of SEALING_KEY_NAMES) {
    const [current, previous] = [given[name], given[`${name}_PREVIOUS`]]
    if (current !== undefined) await checkSealingKey(sql, { name, current, previous })
  }
}

/** Gives up what a lost key sealed. Raises `invalid_request` for a name that is none. */
export async function acceptSealingKey(sql: Database, log: Log, given = ''): Promise<void> {
  const name = SEALING_KEY_NAMES.find((each) => each === given)
  if (name === undefined) {
    throw new AppError(
      'invalid_request',
      `"${given}" is no key that seals anything; one of ${SEALING_KEY_NAMES.join(', ')} is.`,
    )
  }
  await sql.begin(async (tx) => {
    await forgetSealingKey(tx, name)
    const target = { kind: 'sealing_key', id: name }
    await writeAudit(tx, OPERATOR, { action: 'sealing_key_given_up', target })
  })
  log.warn({ key: name }, 'what this key sealed is given up; the next program records its own key')
}
