import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isUuid } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { unlessHeld } from '../runs/run-retention.ts'
import type { Check } from './checks.ts'

/** The most sets of an automation. */
export const SETS_MAX = 50

/** What a set of cases is called, and what is checked of each. */
export interface CaseSetFields {
  readonly name: string
  readonly checks: readonly Check[]
}

/** Cases of an automation that are performed together. */
export interface CaseSet extends CaseSetFields {
  readonly id: string
  /** How many cases it has. */
  readonly size: number
  /** Changes with its cases and its checks. */
  readonly revision: number
}

const columns = (sql: Queryable) => sql`id, name, checks, size, revision`

/** Returns the sets of an automation by name. */
export const listCaseSets = (sql: Queryable, deploymentId: number): Promise<CaseSet[]> =>
  sql<CaseSet[]>`
    select ${columns(sql)} from case_sets where deployment_id = ${deploymentId} order by name, id`

/** Returns a set of an automation, if it exists. */
export async function findCaseSet(
  sql: Queryable,
  { id, deploymentId }: { readonly id: string; readonly deploymentId: number },
): Promise<CaseSet | undefined> {
  const [found] = await sql<CaseSet[]>`
    select ${columns(sql)} from case_sets where id = ${id} and deployment_id = ${deploymentId}`
  return found
}

/** Returns the set of a name. Raises `unprocessable`. */
export async function getCaseSet(
  sql: Queryable,
  { name, deploymentId }: { readonly name: string; readonly deploymentId: number },
): Promise<CaseSet> {
  const [found] = await sql<CaseSet[]>`
    select ${columns(sql)} from case_sets
    where name = ${name} and deployment_id = ${deploymentId}`
  if (found) return found
  const given = JSON.stringify(name.slice(0, 100))
  throw new AppError('unprocessable', `This automation has no set of cases with the name ${given}.`)
}

/** Creates a set. Raises `conflict` for a name that is taken, and when there are too many. */
export async function createCaseSet(
  sql: Queryable,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  { name, checks }: CaseSetFields,
): Promise<CaseSet> {
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    const [{ count }] = await tx<[{ count: number }]>`
      select count(*)::int as count from case_sets where deployment_id = ${deploymentId}`
    if (count >= SETS_MAX) {
      throw new AppError('conflict', `An automation has at most ${SETS_MAX} sets of cases.`)
    }
    const [created] = await tx<CaseSet[]>`
      insert into case_sets (organization_id, deployment_id, name, checks)
      values (${organizationId}, ${deploymentId}, ${name}, ${JSON.stringify(checks)}::text::jsonb)
      on conflict (deployment_id, name) do nothing returning ${columns(tx)}`
    return created ?? taken(name)
  })
}

/** Changes a set; with other checks it has another revision. Raises `conflict` for a taken name. */
export async function updateCaseSet(
  sql: Queryable,
  { id }: Pick<CaseSet, 'id'>,
  { name, checks }: CaseSetFields,
): Promise<void> {
  const text = JSON.stringify(checks)
  const { count } = await sql`
    update case_sets s set name = ${name}, checks = ${text}::text::jsonb,
      revision = revision + (checks <> ${text}::text::jsonb)::int
    where id = ${id} and not exists (
      select from case_sets where deployment_id = s.deployment_id and name = ${name}
        and id <> s.id)`
  if (count === 0) taken(name)
}

/**
 * Deletes a set with its cases and evaluations. Raises `conflict` while a gate needs it, or a hold
 * keeps a case.
 */
export async function deleteCaseSet(sql: Queryable, { id }: Pick<CaseSet, 'id'>): Promise<void> {
  const needed = await sql`select from gates where set_id = ${id}`
  if (needed.length > 0) {
    throw new AppError(
      'conflict',
      'A gate of the automation needs this set. Delete the gate first.',
    )
  }
  await unlessHeld(
    'a case of this set, or what versions made of it',
    sql`delete from case_sets where id = ${id}`,
  )
}

function taken(name: string): never {
  throw new AppError('conflict', `The automation has a set with the name "${name}" already.`)
}

/** A set with its automation, and the version that this runs. */
export interface OwnCaseSet extends CaseSet {
  readonly deploymentId: number
  readonly projectVersionId: number
}

/** Returns a set of an organization with its automation, if it exists. */
export async function findCaseSetOf(
  sql: Queryable,
  { id, organizationId }: { readonly id: string; readonly organizationId: number },
): Promise<OwnCaseSet | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await sql<OwnCaseSet[]>`
    select ${columns(sql)}, deployment_id, (
      select project_version_id from deployments where id = deployment_id) as project_version_id
    from case_sets where id = ${id} and organization_id = ${organizationId}`
  return found
}
