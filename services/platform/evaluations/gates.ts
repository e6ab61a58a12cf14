import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'

/** The most gates of an automation. */
export const GATES_MAX = 5

/** What a version has to pass before it is published. */
export interface GateFields {
  /** The name of a set of the automation. */
  readonly set: string
  /** Of 100 cases. */
  readonly atLeast: number
  /** None fails that the running version passes. */
  readonly keepsPassing: boolean
  /** How often each case is performed. */
  readonly repeat: number
  /** The time for the evaluation. */
  readonly withinMinutes: number
}

/** A gate of an automation. */
export interface Gate extends GateFields {
  readonly id: string
  readonly setId: string
}

const selectGates = (sql: Queryable, where: ReturnType<Queryable>) => sql<Gate[]>`
  select g.id, g.set_id, s.name as set, g.at_least, g.keeps_passing, g.repeat, g.within_minutes
  from gates g join case_sets s on s.id = g.set_id where ${where} order by s.name, g.id`

/** Returns the gates of an automation. */
export const listGates = (sql: Queryable, deploymentId: number): Promise<Gate[]> =>
  selectGates(sql, sql`g.deployment_id = ${deploymentId}`)

/** Returns a gate of an automation, if it exists. */
export async function findGate(
  sql: Queryable,
  { id, deploymentId }: { readonly id: string; readonly deploymentId: number },
): Promise<Gate | undefined> {
  return (await listGates(sql, deploymentId)).find((gate) => gate.id === id.toLowerCase())
}

type Given = GateFields & { readonly setId: string }

const toRow = ({ setId, atLeast, keepsPassing, repeat, withinMinutes }: Given) => ({
  setId,
  atLeast,
  keepsPassing,
  repeat,
  withinMinutes,
})

/** Creates a gate. Raises `conflict` when the automation has as many as it may. */
export async function createGate(
  sql: Queryable,
  { id: deploymentId, organizationId }: Pick<Automation, 'id' | 'organizationId'>,
  given: Given,
): Promise<Gate> {
  return inTransaction(sql, async (tx) => {
    await tx`select from deployments where id = ${deploymentId} for no key update`
    if ((await listGates(tx, deploymentId)).length >= GATES_MAX) {
      throw new AppError('conflict', `An automation has at most ${GATES_MAX} gates.`)
    }
    const row = { organizationId, deploymentId, ...toRow(given) }
    const [{ id }] = await tx<[{ id: string }]>`insert into gates ${tx(row)} returning id`
    return { ...given, id }
  })
}

/** Changes a gate. */
export async function updateGate(
  sql: Queryable,
  { id }: Pick<Gate, 'id'>,
  given: Given,
): Promise<void> {
  await sql`update gates set ${sql(toRow(given))} where id = ${id}`
}

/** Deletes a gate. */
export async function deleteGate(sql: Queryable, { id }: Pick<Gate, 'id'>): Promise<void> {
  await sql`delete from gates where id = ${id}`
}
