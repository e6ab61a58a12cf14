import type { Database, Transaction } from '../../shared/postgres/database.ts'
import type { CrewLease } from './crew-leases.ts'

const RUNS_AT_A_TIME = 500

/**
 * Deletes an automation from source with its runs, its project and its sources, once nothing of
 * its crew runs any more. Returns false when there is more to delete: call it again, until it
 * returns true or raises.
 */
export async function finishRemoval(sql: Database, lease: CrewLease): Promise<boolean> {
  const { deploymentId, leaseId } = lease
  return sql.begin(async (tx) => {
    const held = await tx`
      select from crew_settings
      where deployment_id = ${deploymentId} and lease_id = ${leaseId}
        and removing_since is not null for update`
    if (held.count === 0) return true
    const { count } = await tx`
      delete from executions where id in (
        select id from executions where deployment_id = ${deploymentId} limit ${RUNS_AT_A_TIME})`
    if (count === RUNS_AT_A_TIME) return false
    await deleteRows(tx, deploymentId)
    return true
  })
}

async function deleteRows(tx: Transaction, deploymentId: number): Promise<void> {
  const sources = await tx<{ id: number }[]>`
    select distinct source_id as id from crew_deployments where deployment_id = ${deploymentId}`
  const [{ projectId }] = await tx<[{ projectId: number }]>`
    select v.project_id from deployments d join project_versions v on v.id = d.project_version_id
    where d.id = ${deploymentId}`
  await tx`delete from deployments where id = ${deploymentId}`
  await tx`delete from project_versions where project_id = ${projectId}`
  await tx`delete from projects where id = ${projectId}`
  await tx`
    delete from sources s
    where s.id = any(${sources.map(({ id }) => id)}::int[])
      and not exists (select from crew_deployments where source_id = s.id)
      and not exists (select from project_versions where source_id = s.id)`
}
