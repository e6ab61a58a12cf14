import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { buildDocument, refuseChange } from './crew-settings.ts'
import type { BuildSettings, OwnCrewKey } from './crew-settings.ts'
import { ownCrewDefinition } from '../definitions/own-crew-definition.ts'
import { SOURCES_KEPT } from './sources.ts'

/** All states of a deployment of a crew, in the order in which it goes through them. */
export const CREW_STATES = [
  'Waiting',
  'Building',
  'Deploying',
  'Crew is Online',
  'Crew is Offline',
  'Crew has Failed',
  'Replaced',
] as const
/** The state of a deployment of a crew. */
export type CrewState = (typeof CREW_STATES)[number]

/** One try to run an automation's crew: a source, with settings and variables. */
export interface CrewDeployment {
  readonly id: number
  readonly organizationId: number
  /** Of the automation's row. */
  readonly deploymentId: number
  /** Counts the deployments of the automation. */
  readonly number: number
  readonly sourceId: number
  readonly projectVersionId: number
  /** As they were when it was made. */
  readonly settings: BuildSettings
  /** The number of the deployment whose source and settings it took. */
  readonly rolledBackFrom: number | null
  readonly state: CrewState
  readonly reason: string | null
  /** By its digest. */
  readonly image: string | null
  /** Where workers reach it. */
  readonly url: string | null
  readonly createdAt: Date
  readonly stateSince: Date
  /** When it was first online. */
  readonly onlineAt: Date | null
  /** Since then nothing of it runs any more. */
  readonly endedAt: Date | null
  /** It sleeps because nobody used it. */
  readonly asleepSince: Date | null
}

/** A deployment in the list of an automation's. */
export interface ListedDeployment extends CrewDeployment {
  /** The e-mail address of the person who made it; null: a token, or Git. */
  readonly createdBy: string | null
  readonly source: ListedSource
}

/** What a list shows of a source. */
export interface ListedSource {
  readonly digest: string
  readonly name: string
  readonly size: number
  readonly fileCount: number
  /** Files and folders of the archive that are no part of the source; the first of them. */
  readonly leftOut: readonly string[]
  /** How many others there are. */
  readonly leftOutMore: number
  readonly gitRef: string | null
  readonly gitCommit: string | null
  /** False once its files are deleted. */
  readonly isKept: boolean
}

/** The columns of a deployment of a crew. */
export const crewDeploymentColumns = (sql: Queryable) => sql`
  c.id, c.organization_id, c.deployment_id, c.number, c.source_id, c.project_version_id, c.settings,
  c.rolled_back_from, c.state, c.reason, c.image, c.url, c.created_at, c.state_since, c.online_at,
  c.ended_at, c.asleep_since`

/** Who deploys, or rolls back. */
export interface Deployer extends OwnCrewKey {
  /** null: a token, or Git. */
  readonly createdBy: number | null
  /** The name of the token. */
  readonly tokenName?: string | undefined
}

/**
 * Deploys a source of the automation's organization with the settings and variables of now. It
 * takes the place of a deployment that was not online yet. Raises `not_found`, and `conflict`
 * for a source whose files are deleted, or while the automation is being deleted.
 */
export const deploySource = (
  sql: Queryable,
  deployer: Deployer,
  sourceId: number,
): Promise<CrewDeployment> =>
  deploy(sql, deployer, async (tx) => ({
    sourceId,
    settings: buildDocument(tx),
    earlier: undefined,
  }))

/**
 * Deploys the source of the newest deployment again, with the settings and variables of now. Raises
 * as `deploySource` does, and `conflict` when nothing was deployed yet.
 */
export const deployAgain = (sql: Queryable, deployer: Deployer): Promise<CrewDeployment> =>
  deploy(sql, deployer, async (tx) => {
    const [newest] = await listCrewDeployments(tx, deployer, { limit: 1 })
    if (!newest) throw new AppError('conflict', 'Nothing is deployed yet. Send a source first.')
    return { sourceId: newest.sourceId, settings: buildDocument(tx), earlier: undefined }
  })

/**
 * Goes back to the source, the settings and the image of an earlier deployment, with the variables
 * of now. Raises as `deploySource` does.
 */
export const rollBack = (
  sql: Queryable,
  deployer: Deployer,
  number: number,
): Promise<CrewDeployment> =>
  deploy(sql, deployer, async (tx) => {
    const earlier = await findCrewDeployment(tx, { ...deployer, number })
    if (!earlier) throw noDeployment(number)
    const settings = tx`${JSON.stringify(earlier.settings)}::text::jsonb`
    return { sourceId: earlier.sourceId, settings, earlier }
  })

/** Creates the `not_found` error for the number of a deployment. */
export const noDeployment = (number: number): AppError =>
  new AppError('not_found', `The automation has no deployment ${number}.`)

type Fragment = ReturnType<typeof buildDocument>

interface Choice {
  readonly sourceId: number
  readonly settings: Fragment
  readonly earlier: CrewDeployment | undefined
}

async function deploy(
  sql: Queryable,
  { deploymentId, createdBy, tokenName }: Deployer,
  choose: (tx: Transaction) => Promise<Choice>,
): Promise<CrewDeployment> {
  return inTransaction(sql, async (tx) => {
    const [automation] = await tx<{ number: number; organizationId: number; name: string }[]>`
      update crew_settings s set last_number = last_number + 1, change = change + 1,
        due_at = now(), stopped_at = null
      from deployments d
      where s.deployment_id = ${deploymentId} and removing_since is null and d.id = s.deployment_id
      returning s.last_number as number, d.organization_id, d.name`
    if (!automation) return refuseChange(tx, deploymentId)
    const { sourceId, settings, earlier } = await choose(tx)
    const { organizationId, number } = automation
    await requireFiles(tx, { organizationId, sourceId })
    const projectVersionId = await ensureVersion(tx, { deploymentId, sourceId, ...automation })
    await supersede(tx, { deploymentId, number })
    await showWaiting(tx, { deploymentId, number })
    const [made] = await tx<[CrewDeployment]>`
      with c as (
        insert into crew_deployments (organization_id, deployment_id, number, source_id,
          project_version_id, settings, rolled_back_from, image, image_layers, created_by,
          token_name)
        select ${organizationId}, ${deploymentId}, ${number}, ${sourceId}, ${projectVersionId},
          ${settings}, ${earlier?.number ?? null}, ${earlier?.image ?? null},
          (select image_layers from crew_deployments where id = ${earlier?.id ?? null}),
          ${createdBy}, ${tokenName ?? null}
        from crew_settings where deployment_id = ${deploymentId} returning *)
      select ${crewDeploymentColumns(tx)} from c`
    await tx`
      insert into crew_deployment_variables (crew_deployment_id, name, value, sealed_value)
      select ${made.id}, name, value, sealed_value from crew_variables
      where deployment_id = ${deploymentId}`
    return made
  })
}

/** They are not deleted before this transaction ends. */
async function requireFiles(
  tx: Transaction,
  { organizationId, sourceId }: { organizationId: number; sourceId: number },
): Promise<void> {
  const [source] = await tx<{ isKept: boolean }[]>`
    select files_deleted_at is null as is_kept from sources
    where id = ${sourceId} and organization_id = ${organizationId} for share`
  if (!source) throw new AppError('not_found', 'Your organization has no such source.')
  if (source.isKept) return
  throw new AppError(
    'conflict',
    `The files of this source are no longer kept, only those of the last ${SOURCES_KEPT} ` +
      'deployments. Send the source again.',
  )
}

/** A source is one version of the project, however often it is deployed. */
async function ensureVersion(
  tx: Transaction,
  version: { deploymentId: number; sourceId: number; name: string },
): Promise<number> {
  const { deploymentId, sourceId, name } = version
  const definition = JSON.stringify(ownCrewDefinition({ name, inputs: [] }))
  const project = tx`
    select v.project_id from deployments d join project_versions v on v.id = d.project_version_id
    where d.id = ${deploymentId}`
  await tx`
    with p as (
      update projects set last_version = last_version + 1
      where id = (${project}) and not exists (
        select from project_versions where project_id = projects.id and source_id = ${sourceId})
      returning id, organization_id, last_version)
    insert into project_versions
      (project_id, organization_id, number, source_id, definition, published_at)
    select id, organization_id, last_version, ${sourceId}, ${definition}::text::jsonb, now() from p`
  const [found] = await tx<[{ id: number }]>`
    select id from project_versions where project_id = (${project}) and source_id = ${sourceId}`
  return found.id
}

/** Ends the deployments that were never online. */
async function supersede(
  tx: Transaction,
  { deploymentId, number }: { deploymentId: number; number: number },
): Promise<void> {
  const reason = `Deployment ${number} took its place before it was online.`
  await tx`
    with ended as (
      update crew_deployments set state = 'Replaced', state_since = now(), ended_at = now(),
        reason = ${reason}
      where deployment_id = ${deploymentId} and ended_at is null and online_at is null
      returning id)
    delete from crew_deployment_variables v using ended where v.crew_deployment_id = ended.id`
}

/** The automation is on its way, unless another deployment of it is online. */
async function showWaiting(
  tx: Transaction,
  { deploymentId, number }: { deploymentId: number; number: number },
): Promise<void> {
  await tx`
    update deployments set status = 'Crew is Provisioning',
      status_reason = ${`Deployment ${number} waits for a worker.`}, updated_at = now()
    where id = ${deploymentId} and status <> 'Crew is Online'`
}

/** Names a deployment of an automation. */
interface CrewDeploymentKey extends OwnCrewKey {
  readonly number: number
}

/** Returns a deployment of an automation by its number. */
export async function findCrewDeployment(
  sql: Queryable,
  { deploymentId, number }: CrewDeploymentKey,
): Promise<ListedDeployment | undefined> {
  const [found] = await list(
    sql,
    sql`
    c.deployment_id = ${deploymentId} and c.number = ${number}`,
  )
  return found
}

/** Returns the deployments of an automation with numbers below `before`, the newest first. */
export const listCrewDeployments = (
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<ListedDeployment[]> =>
  list(
    sql,
    sql`c.deployment_id = ${deploymentId} and c.number < ${before ?? 2 ** 31 - 1}
      order by c.number desc limit ${limit}`,
  )

const list = (sql: Queryable, condition: Fragment): Promise<ListedDeployment[]> =>
  sql<ListedDeployment[]>`
    select ${crewDeploymentColumns(sql)}, coalesce(u.email, c.token_name) as created_by,
      jsonb_build_object(
      'digest', encode(s.digest, 'hex'), 'name', s.name, 'size', s.size,
      'fileCount', s.file_count, 'leftOut', coalesce(s.facts -> 'leftOut', '[]'),
      'leftOutMore', coalesce(s.facts -> 'leftOutMore', '0'), 'gitRef', s.git_ref,
      'gitCommit', s.git_commit, 'isKept', s.files_deleted_at is null) as source
    from crew_deployments c join sources s on s.id = c.source_id
      left join users u on u.id = c.created_by
    where ${condition}`
