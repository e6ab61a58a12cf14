import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { Automation } from '../automations/automations.ts'
import { isKeptByHold, refuseHeldInputs, refuseHeldRuns } from '../runs/run-retention.ts'
import { findCrewSettings, removeCrew, startCrew, stopCrew } from './crew-settings.ts'

const RUNS_AT_A_TIME = 500
const STOPPED = 'It was stopped. Start it to let it take runs again.'
const REMOVING = 'It is being deleted.'
const HELD = 'It is being deleted, which waits until a legal hold is lifted.'

/** What was asked of an automation beside its status. */
export interface AutomationLife {
  readonly stoppedAt: Date | null
  readonly removingSince: Date | null
}

type Key = Pick<Automation, 'id'>

/** Returns what was asked of an automation, designed or made from a source. */
export async function getAutomationLife(sql: Queryable, { id }: Key): Promise<AutomationLife> {
  const [life] = await sql<[AutomationLife]>`
    select coalesce(c.stopped_at, d.halted_at) as stopped_at,
      coalesce(c.removing_since, d.deleting_since) as removing_since
    from deployments d left join crew_settings c on c.deployment_id = d.id where d.id = ${id}`
  return life
}

/**
 * Keeps an automation from starting runs until it is started again; runs wait meanwhile, and those
 * that go on end by themselves. Raises `conflict` for one that is not online or is being deleted.
 */
export async function stopAutomation(sql: Queryable, { id }: Key): Promise<void> {
  if (await isFromSource(sql, id)) return stopCrew(sql, { deploymentId: id })
  const { count } = await sql`
    update deployments set halted_at = coalesce(halted_at, now()), status = 'Crew is Offline',
      status_reason = ${STOPPED}, updated_at = now()
    where id = ${id} and deleting_since is null
      and (status = 'Crew is Online' or halted_at is not null)`
  if (count === 0) throw new AppError('conflict', 'The automation is not online.')
}

/**
 * Lets an automation that was stopped take runs again. Raises `conflict` while it is being deleted.
 */
export async function startAutomation(sql: Queryable, { id }: Key): Promise<void> {
  if (await isFromSource(sql, id)) return startCrew(sql, { deploymentId: id })
  const [started] = await sql<{ deletingSince: Date | null }[]>`
    with started as (
      update deployments set halted_at = null, status = 'Crew is Online', status_reason = null,
        updated_at = now()
      where id = ${id} and halted_at is not null and deleting_since is null returning id)
    select deleting_since, (select call_workers() from started)
    from deployments where id = ${id}`
  if (started?.deletingSince) throw beingDeleted()
}

/**
 * Has a worker delete an automation with its runs and all that belongs to it. The project of a
 * designed one stays. Raises `conflict` while it is being deleted already, and for one that a hold
 * keeps a run or a case of.
 */
export async function removeAutomation(sql: Queryable, { id }: Key): Promise<void> {
  await refuseHeldRuns(sql, sql`e.deployment_id = ${id}`)
  await refuseHeldInputs(sql, sql`d.id = ${id}`)
  if (await isFromSource(sql, id)) return removeCrew(sql, { deploymentId: id })
  const { count } = await sql`
    update deployments set deleting_since = now(), halted_at = coalesce(halted_at, now()),
      status = 'Crew is Offline', status_reason = ${REMOVING}, updated_at = now()
    where id = ${id} and deleting_since is null`
  if (count === 0) throw beingDeleted()
}

/** Holds while an automation is to be deleted. */
export const hasRemovedAutomations = (sql: Queryable) => sql`
  exists (select from deployments where deleting_since is not null)`

/**
 * Deletes some runs of a designed automation that is to go, or itself. Returns 0 when none is, and
 * for one that a hold keeps, which was made meanwhile: others come before it the next time.
 */
export async function deleteRemovedAutomation(sql: Database): Promise<number> {
  return sql.begin(async (tx) => {
    const [found] = await tx<{ id: number }[]>`
      select id from deployments where deleting_since is not null
      order by updated_at, id limit 1 for update skip locked`
    if (!found) return 0
    try {
      await tx.savepoint((part) => deleteSome(part, found.id))
      return 1
    } catch (thrown) {
      if (!isKeptByHold(thrown)) throw thrown
      await tx`
        update deployments set status_reason = ${HELD}, updated_at = clock_timestamp()
        where id = ${found.id}`
      return 0
    }
  })
}

async function deleteSome(tx: Transaction, id: number): Promise<void> {
  const { count } = await tx`
    delete from executions where id in (
      select id from executions where deployment_id = ${id} limit ${RUNS_AT_A_TIME})`
  if (count < RUNS_AT_A_TIME) await tx`delete from deployments where id = ${id}`
}

const isFromSource = async (sql: Queryable, id: number): Promise<boolean> =>
  (await findCrewSettings(sql, id)) !== undefined

const beingDeleted = (): AppError => new AppError('conflict', 'The automation is being deleted.')
