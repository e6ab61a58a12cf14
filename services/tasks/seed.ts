import {
  ensureDefaultOrganization,
  getOrganizationByName,
} from '../platform/people/organizations.ts'
import { ensureProjectAutomation } from '../platform/projects/project-automations.ts'
import { ensurePublishedProject } from '../platform/projects/project-versions.ts'
import { sampleCrews } from '../platform/crews/sample-crews.ts'
import type { Database } from '../shared/postgres/database.ts'
import { AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

/**
 * Gives an organization sample projects whose automations the Runner runs; what is there stays as
 * it is. Raises `not_found` for an organization that is not there, and `conflict` while there is no
 * Runner.
 */
export async function seedSamples(
  sql: Database,
  log: Log,
  organization: string | undefined,
): Promise<void> {
  const { id: organizationId, name } = await findOrganization(sql, organization)
  for (const { name: project, definition } of sampleCrews) {
    const sample = { organizationId, name: project, definition }
    const { projectId } = await ensurePublishedProject(sql, sample)
    const automation = await ensureProjectAutomation(sql, { organizationId, projectId })
    if (!automation) throw runnerMissing()
    const facts = { organization: name, project }
    log.info({ ...facts, automation_id: automation.automationId }, 'a sample automation is there')
  }
}

function findOrganization(sql: Database, name: string | undefined) {
  return name === undefined ? ensureDefaultOrganization(sql) : getOrganizationByName(sql, name)
}

function runnerMissing(): AppError {
  return new AppError(
    'conflict',
    'The sample projects are there, and nothing to run them on: run designer:runner:install, ' +
      'then this task again.',
  )
}
