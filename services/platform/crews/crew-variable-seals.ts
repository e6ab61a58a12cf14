import type { Queryable } from '../../shared/postgres/database.ts'

/** A secret of a crew, as the database has it. */
interface SealedCrewSecret {
  readonly deploymentId: number
  readonly name: string
  readonly sealedValue: Buffer
  /** The deployment that holds this copy; null: the variable of the next deployment. */
  readonly crewDeploymentId: number | null
}

/** Where a page of secrets begins: after this one. */
export type SecretCursor = Pick<SealedCrewSecret, 'deploymentId' | 'name' | 'crewDeploymentId'>

/**
 * Returns the secrets of all crews after a cursor: those of the next deployments, and the copies of
 * them in deployments that go on. Fewer than `limit` are the last.
 */
export const listSealedCrewSecrets = (
  sql: Queryable,
  { after, limit }: { after: SecretCursor | undefined; limit: number },
): Promise<SealedCrewSecret[]> =>
  sql<SealedCrewSecret[]>`
    select * from (
      select deployment_id, name, sealed_value, null::int as crew_deployment_id
      from crew_variables where sealed_value is not null
      union all
      select c.deployment_id, v.name, v.sealed_value, c.id
      from crew_deployment_variables v join crew_deployments c on c.id = v.crew_deployment_id
      where v.sealed_value is not null) secrets
    where (deployment_id, name, coalesce(crew_deployment_id, 0)) > (${after?.deploymentId ?? 0},
      ${after?.name ?? ''}, ${after?.crewDeploymentId ?? 0})
    order by deployment_id, name, coalesce(crew_deployment_id, 0) limit ${limit}`

/** Puts another seal on a secret of a crew, unless somebody has changed it meanwhile. */
export async function replaceSealedCrewSecret(
  sql: Queryable,
  { deploymentId, crewDeploymentId, name, sealedValue }: SealedCrewSecret,
  resealed: Buffer,
): Promise<void> {
  if (crewDeploymentId === null) {
    await sql`
      update crew_variables set sealed_value = ${resealed}
      where deployment_id = ${deploymentId} and name = ${name} and sealed_value = ${sealedValue}`
    return
  }
  await sql`
    update crew_deployment_variables set sealed_value = ${resealed}
    where crew_deployment_id = ${crewDeploymentId} and name = ${name}
      and sealed_value = ${sealedValue}`
}
