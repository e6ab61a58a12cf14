import type { Queryable } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'

/** The ways to run a crew of one's own: a process beside the worker, or pods of Kubernetes. */
export const CREW_WAYS = ['process', 'slim', 'image'] as const
/** A way to run a crew. */
export type CrewWay = (typeof CREW_WAYS)[number]

/** The settings that a deployment is made with; others need another deployment. */
export interface BuildSettings {
  /** null: as the platform decides. */
  readonly way: CrewWay | null
  /** Such as `3.12`; null: as the platform decides. */
  readonly pythonVersion: string | null
  /** `module:function` or a file; null: as the adapter finds it. */
  readonly entrypoint: string | null
  /** Quantities of Kubernetes, such as `500m` and `1Gi`; null: as the operator decides. */
  readonly cpuRequest: string | null
  readonly cpuLimit: string | null
  readonly memoryRequest: string | null
  readonly memoryLimit: string | null
  /** The hosts and networks that it may reach beside those which every crew may. */
  readonly egress: readonly string[]
}

/** The settings that hold at once, for the crew that runs. */
export interface ScaleSettings {
  readonly replicas: number
  /** Without runs for so long it sleeps until the next one; null: never. */
  readonly idleMinutes: number | null
}

/** What people set for a crew. */
export interface CrewSettings extends BuildSettings, ScaleSettings {}

/** What people want of a crew beside its settings. */
export interface WantedLife {
  /** A person stopped it. */
  readonly stoppedAt: Date | null
  /** Its processes are to be newer than this. */
  readonly restartedAt: Date | null
  readonly removingSince: Date | null
}

/** Names an automation that is made from a source. */
export interface OwnCrewKey {
  /** Of the automation's row. */
  readonly deploymentId: number
}

/** The columns of the settings that a deployment is made with. */
const buildColumns = (sql: Queryable) => sql`
  way, python_version, entrypoint, cpu_request, cpu_limit, memory_request, memory_limit, egress`

/** The settings of an automation from source as a document, as deployments keep them. */
export const buildDocument = (sql: Queryable) => sql`
  jsonb_build_object('way', way, 'pythonVersion', python_version, 'entrypoint', entrypoint,
    'cpuRequest', cpu_request, 'cpuLimit', cpu_limit, 'memoryRequest', memory_request,
    'memoryLimit', memory_limit, 'egress', to_jsonb(egress))`

/** Returns the settings of an automation from source; undefined for any other. */
export async function findCrewSettings(
  sql: Queryable,
  deploymentId: number,
): Promise<(CrewSettings & WantedLife) | undefined> {
  const [found] = await sql<(CrewSettings & WantedLife)[]>`
    select ${buildColumns(sql)}, replicas, idle_minutes, stopped_at, restarted_at, removing_since
    from crew_settings where deployment_id = ${deploymentId}`
  return found
}

/** An automation that is made from a source, as lists have it. */
export interface OwnCrew extends CrewSettings, OwnCrewKey {
  readonly id: string
  readonly name: string
  readonly slug: string
}

/** Returns automations of an organization that are made from sources, by name, or one of them. */
export const listOwnCrews = (
  sql: Queryable,
  organizationId: number,
  { limit, id = null }: { readonly limit: number; readonly id?: string | null },
): Promise<OwnCrew[]> =>
  sql<OwnCrew[]>`
    select d.automation_id as id, d.name, d.slug, s.deployment_id, ${buildColumns(sql)}, s.replicas,
      s.idle_minutes
    from crew_settings s join deployments d on d.id = s.deployment_id
    where d.organization_id = ${organizationId} and s.removing_since is null
      and (${id}::uuid is null or d.automation_id = ${id})
    order by d.name, d.id limit ${limit}`

/**
 * Saves the settings of an automation from source. Replicas and the idle time hold at once, the
 * others from the next deployment on. Raises `not_found` and `conflict` as `changeCrew` does.
 */
export async function saveCrewSettings(
  sql: Queryable,
  { deploymentId }: OwnCrewKey,
  settings: CrewSettings,
): Promise<void> {
  await changeCrew(
    sql,
    deploymentId,
    sql`way = ${settings.way}, python_version = ${settings.pythonVersion},
      entrypoint = ${settings.entrypoint}, cpu_request = ${settings.cpuRequest},
      cpu_limit = ${settings.cpuLimit}, memory_request = ${settings.memoryRequest},
      memory_limit = ${settings.memoryLimit}, egress = ${[...settings.egress]}::text[],
      replicas = ${settings.replicas}, idle_minutes = ${settings.idleMinutes}`,
  )
}

/** Stops a crew until somebody starts or deploys it. Raises as `changeCrew` does. */
export const stopCrew = (sql: Queryable, { deploymentId }: OwnCrewKey): Promise<void> =>
  changeCrew(sql, deploymentId, sql`stopped_at = coalesce(stopped_at, now())`)

/** Starts a crew that was stopped. Raises as `changeCrew` does. */
export const startCrew = (sql: Queryable, { deploymentId }: OwnCrewKey): Promise<void> =>
  changeCrew(sql, deploymentId, sql`stopped_at = null`)

/** Has new processes take the places of a crew's own. Raises as `changeCrew` does. */
export const restartCrew = (sql: Queryable, { deploymentId }: OwnCrewKey): Promise<void> =>
  changeCrew(sql, deploymentId, sql`restarted_at = now(), stopped_at = null`)

/** Has a worker remove a crew with all that it made, and then the automation. */
export const removeCrew = (sql: Queryable, { deploymentId }: OwnCrewKey): Promise<void> =>
  changeCrew(sql, deploymentId, sql`removing_since = now()`)

type Fragment = ReturnType<typeof buildColumns>

/**
 * Changes what is wanted of a crew, and has a worker look at it at once. Raises `not_found` for an
 * automation that is not made from a source, and `conflict` while it is being deleted.
 */
async function changeCrew(sql: Queryable, deploymentId: number, values: Fragment): Promise<void> {
  const { count } = await sql`
    update crew_settings set ${values}, change = change + 1, due_at = now()
    where deployment_id = ${deploymentId} and removing_since is null`
  if (count === 0) await refuseChange(sql, deploymentId)
}

/** Raises why an automation cannot be changed as one from source. */
export async function refuseChange(sql: Queryable, deploymentId: number): Promise<never> {
  const found = await findCrewSettings(sql, deploymentId)
  if (found) throw new AppError('conflict', 'The automation is being deleted.')
  throw new AppError(
    'not_found',
    'The automation has no crew of its own: it is not made from a source.',
  )
}
