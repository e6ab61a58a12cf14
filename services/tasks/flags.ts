import { OPERATOR, writeAudit } from '../platform/audit/audit.ts'
import { FEATURE_FLAGS, listFlags, readFlagState, setFlag } from '../platform/feature-flags.ts'
import { getOrganizationByName } from '../platform/people/organizations.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

interface Switch {
  readonly name: string | undefined
  readonly state: string | undefined
  /** Its name; undefined for the whole platform. */
  readonly organization: string | undefined
}

/**
 * Prints each flag with its state: for the platform, and for the organizations that have one of
 * their own.
 */
export async function printFlags(sql: Database): Promise<void> {
  const rows = await listFlags(sql)
  const lines = FEATURE_FLAGS.flatMap((name) => {
    const own = rows.filter((row) => row.name === name)
    const platform = own.find(({ organization }) => organization === null)
    return [
      `${name} ${platform?.enabled === true ? 'on' : 'off'}`,
      ...own.flatMap(({ organization, enabled }) =>
        organization === null ? [] : [`${name} ${enabled ? 'on' : 'off'} ${organization}`],
      ),
    ]
  })
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Switches a flag. Raises `invalid_request` and `not_found` with what is allowed. */
export async function switchFlag(sql: Database, wanted: Switch, log: Log): Promise<void> {
  const name = FEATURE_FLAGS.find((each) => each === wanted.name)
  const enabled = readFlagState(wanted.state ?? '')
  if (name === undefined || enabled === undefined) {
    const given = [wanted.name, wanted.state].join(' ').trim()
    throw new AppError(
      'invalid_request',
      `Expected NAME on|off, with one of ${FEATURE_FLAGS.join(', ')} for NAME; got "${given}".`,
    )
  }
  const organizationId = await findId(sql, wanted.organization)
  await sql.begin(async (tx) => {
    await setFlag(tx, { name, organizationId, enabled })
    const target = { kind: 'feature_flag', id: name }
    const entry = { action: 'feature_flag_changed', organizationId, target, after: { enabled } }
    await writeAudit(tx, OPERATOR, entry)
  })
  log.info({ flag: name, enabled, organization: wanted.organization }, 'the flag is set')
}

async function findId(sql: Database, organization: string | undefined): Promise<number | null> {
  if (organization === undefined) return null
  const { id } = await getOrganizationByName(sql, organization)
  return id
}
