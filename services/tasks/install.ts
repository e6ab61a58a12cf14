import manifest from '../../package.json' with { type: 'json' }
import { publishCrewRuntime } from '../platform/crews/crew-runtime-package.ts'
import { ensureInternalOrganization } from '../platform/crews/internal-crews.ts'
import { ensurePublicToolRepository } from '../platform/tools/tools.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { Log } from '../shared/log.ts'

/**
 * Creates the platform's own organization, which holds the Assistant and the Runner (SPEC 2.3).
 * Safe to run again.
 */
export async function installInternalOrganization(sql: Database, log: Log): Promise<void> {
  const { id, name } = await ensureInternalOrganization(sql)
  log.info({ organization_id: id, name }, 'the internal organization is there')
}

/**
 * Creates the tool repository that every crew may use (SPEC 2.3), and publishes there what makes
 * crews of Python projects. Safe to run again.
 */
export async function installPublicRepository(sql: Database, log: Log): Promise<void> {
  const id = await ensurePublicToolRepository(sql, 'public')
  const version = await publishCrewRuntime(sql, id, manifest)
  log.info({ repository_id: id, crew_runtime: version }, 'the public tool repository is there')
}
