import { sealsOf } from '../../shared/vault.ts'
import type { Seals } from '../../shared/vault.ts'
import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { refuseChange } from './crew-settings.ts'
import type { OwnCrewKey } from './crew-settings.ts'

/** The most variables of one crew. */
export const VARIABLES_MAX = 200

/** A variable of a crew's environment. */
export interface CrewVariable {
  readonly id: number
  readonly name: string
  /** null: a secret, which nobody is shown. */
  readonly value: string | null
  readonly updatedAt: Date
}

/** A variable as the database has it. */
interface SealedVariable {
  readonly name: string
  readonly value: string | null
  readonly sealedValue: Buffer | null
}

interface VariableKey extends OwnCrewKey {
  readonly name: string
}

/** Seals the secrets among the variables of crews. */
export type VariableSeals = Seals<VariableKey>

/** Creates the seals from SECRET_KEY_BASE and, while it is rotated, the previous one. */
export const createVariableSeals = sealsOf(
  'crew-platform crew variable',
  ({ deploymentId, name }: VariableKey) => `${deploymentId}/${name}`,
)

/** Returns the variables that an automation from source is deployed with next, by name. */
export const listCrewVariables = (
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
): Promise<CrewVariable[]> =>
  sql<CrewVariable[]>`
    select id, name, value, updated_at from crew_variables
    where deployment_id = ${deploymentId} order by name limit ${VARIABLES_MAX}`

/**
 * Sets a variable for the next deployment. Raises `conflict` when the automation has as many as it
 * may, and as `refuseChange` does.
 */
export async function setCrewVariable(
  sql: Queryable,
  { deploymentId, name }: VariableKey,
  value: { readonly value: string } | { readonly sealedValue: Buffer },
): Promise<void> {
  const row = { value: null, sealedValue: null, ...value }
  await inTransaction(sql, async (tx) => {
    const { count } = await tx`
      select from crew_settings
      where deployment_id = ${deploymentId} and removing_since is null for no key update`
    if (count === 0) await refuseChange(tx, deploymentId)
    const set = await tx`
      insert into crew_variables as present (deployment_id, name, value, sealed_value)
      select ${deploymentId}, ${name}, ${row.value}, ${row.sealedValue}
      where (select count(*) from crew_variables
        where deployment_id = ${deploymentId} and name <> ${name}) < ${VARIABLES_MAX}
      on conflict (deployment_id, name) do update set
        value = excluded.value, sealed_value = excluded.sealed_value, updated_at = now()`
    if (set.count > 0) return
    throw new AppError(
      'conflict',
      `A crew has at most ${VARIABLES_MAX} variables. Delete one that is no longer used.`,
    )
  })
}

/** Deletes a variable for the next deployment. Returns false when there is none of that name. */
export async function deleteCrewVariable(
  sql: Queryable,
  { deploymentId, name }: VariableKey,
): Promise<boolean> {
  const { count } = await sql`
    delete from crew_variables where deployment_id = ${deploymentId} and name = ${name}`
  return count > 0
}

/** Returns the variables that a deployment was made with; none once it has ended. */
export const loadDeployedVariables = (
  sql: Queryable,
  crewDeploymentId: number,
): Promise<SealedVariable[]> =>
  sql<SealedVariable[]>`
    select name, value, sealed_value from crew_deployment_variables
    where crew_deployment_id = ${crewDeploymentId} order by name limit ${VARIABLES_MAX}`
