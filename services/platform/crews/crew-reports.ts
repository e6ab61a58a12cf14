import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import type { AutomationStatus } from '../automations/automations.ts'
import type { CrewDeployment, CrewState } from './crew-deployments.ts'
import type { ImageLayer } from './crew-images.ts'
import type { CrewLease } from './crew-leases.ts'
import { ownCrewDefinition } from '../definitions/own-crew-definition.ts'

const REASON_CHARACTERS_MAX = 4000

/** How far a deployment has come. */
interface ProgressReport {
  readonly state: 'Building' | 'Deploying'
  readonly reason?: string | undefined
  /** By its digest, once it is built. */
  readonly image?: string | undefined
  /** What the image is made of. */
  readonly layers?: readonly ImageLayer[] | undefined
}

/** Where a crew can be reached, and what it said of itself. */
interface OnlineReport {
  readonly state: 'Crew is Online'
  readonly url: string
  /** What it said of its inputs; absent: as they were. */
  readonly inputs?: Parameters<typeof ownCrewDefinition>[0]['inputs'] | undefined
}

/** Why a crew cannot be reached. A deployment that fails before it was online has ended. */
interface DownReport {
  readonly state: 'Crew is Offline' | 'Crew has Failed'
  readonly reason: string
  /** It sleeps because nobody uses it. */
  readonly isAsleep?: boolean | undefined
}

/** What a worker found out about a deployment that it looks after. */
export type CrewReport = ProgressReport | OnlineReport | DownReport

/**
 * Writes down the state of a deployment, and what follows for its automation: callers reach the
 * newest one that is online. Returns false once the lease is another worker's, or the deployment
 * has ended.
 */
export async function reportCrew(
  sql: Database,
  { lease, crewDeploymentId }: { lease: CrewLease; crewDeploymentId: number },
  report: CrewReport,
): Promise<boolean> {
  return sql.begin(async (tx) => {
    const owned = await lock(tx, lease, crewDeploymentId)
    if (!owned) return false
    if (report.state === 'Crew is Online') await putOnline(tx, owned, report)
    else if (isDown(report)) await putDown(tx, owned, report)
    else await putForward(tx, owned, report)
    return true
  })
}

const isDown = (report: ProgressReport | DownReport): report is DownReport =>
  report.state === 'Crew is Offline' || report.state === 'Crew has Failed'

type Owned = Pick<
  CrewDeployment,
  'id' | 'deploymentId' | 'number' | 'projectVersionId' | 'onlineAt'
> & { readonly name: string }

/** Neither the lease nor the deployment changes before this transaction ends. */
async function lock(
  tx: Transaction,
  { deploymentId, leaseId }: CrewLease,
  id: number,
): Promise<Owned | undefined> {
  const held = await tx`
    select from crew_settings
    where deployment_id = ${deploymentId} and lease_id = ${leaseId} for no key update`
  if (held.count === 0) return undefined
  const [owned] = await tx<Owned[]>`
    select c.id, c.deployment_id, c.number, c.project_version_id, c.online_at, d.name
    from crew_deployments c join deployments d on d.id = c.deployment_id
    where c.id = ${id} and c.deployment_id = ${deploymentId} and c.ended_at is null`
  return owned
}

interface StateChange {
  readonly state: CrewState
  readonly reason?: string | undefined
}

/** The columns of a state; the time counts from when the state began, not from its last reason. */
const stateColumns = (sql: Queryable, { state, reason }: StateChange) => sql`
  state = ${state}, reason = ${clip(reason)},
  state_since = case when state = ${state} then state_since else now() end`

/** PostgreSQL stores no NUL. */
const clip = (text: string | undefined): string | null =>
  text?.replaceAll('\0', '').slice(0, REASON_CHARACTERS_MAX) || null

async function putForward(tx: Transaction, owned: Owned, report: ProgressReport): Promise<void> {
  const { id, deploymentId, number } = owned
  const layers = JSON.stringify(report.layers ?? [])
  const image =
    report.image === undefined
      ? tx``
      : tx`, image = ${report.image}, image_layers = ${layers}::text::jsonb`
  await tx`update crew_deployments set ${stateColumns(tx, report)}${image} where id = ${id}`
  const word = report.state === 'Building' ? 'built' : 'started'
  await mirror(tx, deploymentId, {
    status: 'Crew is Provisioning',
    reason: `Deployment ${number} is being ${word}.`,
  })
}

async function putOnline(tx: Transaction, owned: Owned, report: OnlineReport): Promise<void> {
  const { id, deploymentId, number, projectVersionId, name } = owned
  const { url, inputs } = report
  await tx`
    update crew_deployments set ${stateColumns(tx, { state: 'Crew is Online' })}, url = ${url},
      online_at = coalesce(online_at, now()), asleep_since = null
    where id = ${id}`
  const reason = `Deployment ${number} took its place.`
  const ended = await tx<{ id: number }[]>`
    update crew_deployments set ${stateColumns(tx, { state: 'Replaced', reason })}, ended_at = now()
    where deployment_id = ${deploymentId} and ended_at is null and number < ${number}
    returning id`
  for (const each of ended) await forgetVariables(tx, each.id)
  if (inputs) {
    const definition = JSON.stringify(ownCrewDefinition({ name, inputs }))
    await tx`
      update project_versions set definition = ${definition}::text::jsonb
      where id = ${projectVersionId} and definition <> ${definition}::text::jsonb`
  }
  await tx`
    update deployments set status = 'Crew is Online', status_reason = null, url = ${url},
      project_version_id = ${projectVersionId}, updated_at = now()
    where id = ${deploymentId}`
}

async function putDown(tx: Transaction, owned: Owned, report: DownReport): Promise<void> {
  const { id, deploymentId, onlineAt } = owned
  const { state, reason, isAsleep = false } = report
  const hasEnded = state === 'Crew has Failed' && onlineAt === null
  await tx`
    update crew_deployments set ${stateColumns(tx, report)},
      ended_at = case when ${hasEnded} then now() end,
      asleep_since = case when ${isAsleep} then coalesce(asleep_since, now()) end
    where id = ${id}`
  if (hasEnded) await forgetVariables(tx, id)
  await mirror(tx, deploymentId, { status: state, reason })
}

/** The automation has that status too, unless another deployment of it is online. */
async function mirror(
  tx: Transaction,
  deploymentId: number,
  { status, reason }: { status: AutomationStatus; reason: string },
): Promise<void> {
  await tx`
    update deployments set status = ${status}, status_reason = ${clip(reason)}, updated_at = now()
    where id = ${deploymentId} and not exists (
      select from crew_deployments
      where deployment_id = ${deploymentId} and state = 'Crew is Online')`
}

const forgetVariables = (tx: Transaction, id: number) =>
  tx`delete from crew_deployment_variables where crew_deployment_id = ${id}`
