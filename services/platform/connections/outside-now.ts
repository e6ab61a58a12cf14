import { modelsOf } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isInside, modelsOutside, toolsOutside } from './regions.ts'
import type { AllowedRegions } from './regions.ts'

const ORGANIZATIONS_MAX = 1000
const ROWS_MAX = 10_000
const VERSIONS_MAX = 500

/** What is outside of the rule of its organization on regions. */
export interface OutsideNow {
  readonly organizationId: number
  readonly organization: string
  /** A source is a version whose program calls what it likes: no rule holds it. */
  readonly kind: 'llm_connection' | 'connection' | 'webhook' | 'version' | 'source'
  /** Its id; of a version and a source, that of the automation that runs it. */
  readonly id: string
  readonly name: string
  /** Of the automation that it belongs to; null: to none. */
  readonly automationId: string | null
  readonly why: string
}

interface Ruled {
  readonly id: number
  readonly name: string
  readonly allowed: AllowedRegions
}

interface Place {
  readonly organizationId: number
  readonly id: string
  readonly name: string
  readonly region: string | null
}

interface Running {
  readonly organizationId: number
  readonly automationId: string
  readonly name: string
  readonly number: number
  readonly definition: CrewDefinition
}

/**
 * Lists what is outside now: connections, webhooks, and the versions that automations run.
 * @default of all organizations that have a rule
 */
export async function findOutsideNow(
  sql: Queryable,
  organizationId?: number,
): Promise<OutsideNow[]> {
  const whose = organizationId === undefined ? sql`true` : sql`id = ${organizationId}`
  const ruled = await sql<Ruled[]>`
    select id, name, allowed_regions as allowed from organizations
    where allowed_regions <> '{}' and ${whose} order by id limit ${ORGANIZATIONS_MAX}`
  if (ruled.length === 0) return []
  const ids = ruled.map(({ id }) => id)
  const models = await sql<(Place & { readonly model: string })[]>`
    select organization_id, id::text, name, model, region from llm_connections
    where organization_id = any(${ids}::int[]) order by name, id limit ${ROWS_MAX}`
  const connections = await sql<Place[]>`
    select organization_id, id::text, name, region from oauth_connections
    where organization_id = any(${ids}::int[]) order by name, id limit ${ROWS_MAX}`
  const webhooks = await sql<(Place & { readonly automationId: string })[]>`
    select d.organization_id, w.id::text, w.url as name, w.region, d.automation_id
    from webhooks w join deployments d on d.id = w.deployment_id
    where d.organization_id = any(${ids}::int[]) order by d.name, w.created_at limit ${ROWS_MAX}`
  const running = await listRunning(sql, ids)
  return ruled.flatMap(({ id, name: organization, allowed }) => {
    const own = <Of extends { readonly organizationId: number }>(all: readonly Of[]): Of[] =>
      all.filter((each) => each.organizationId === id)
    const of = { organizationId: id, organization, automationId: null }
    const outside = <Of extends Place>(all: readonly Of[]) =>
      own(all).filter((each) => !isInside(allowed, each))
    return [
      ...outside(models).map((each) => ({
        ...of,
        ...shown(each),
        kind: 'llm_connection' as const,
      })),
      ...outside(connections).map((each) => ({
        ...of,
        ...shown(each),
        kind: 'connection' as const,
      })),
      ...outside(webhooks).map(({ automationId, ...each }) => ({
        ...of,
        ...shown({ ...each, name: new URL(each.name).origin }),
        kind: 'webhook' as const,
        automationId,
      })),
      ...own(running).flatMap((version) => {
        const found = versionOutside(allowed, version, {
          models: own(models),
          connections: own(connections),
        })
        return found ? [{ ...of, ...found }] : []
      }),
    ]
  })
}

const shown = ({ id, name, region }: Pick<Place, 'id' | 'name' | 'region'>) => ({
  id,
  name,
  why: region === null ? 'says no region' : `is in ${region}`,
})

interface Known {
  readonly models: readonly (Place & { readonly model: string })[]
  readonly connections: readonly Place[]
}

function versionOutside(
  allowed: AllowedRegions,
  { automationId, name: automation, number, definition }: Running,
  { models, connections }: Known,
) {
  const name = `${automation}, version ${number}`
  const of = { id: automationId, name, automationId }
  if (isOwnCrew(definition)) {
    return { ...of, kind: 'source', why: 'is a program, which calls what it likes' } as const
  }
  const why = [
    ...modelsOutside(allowed, modelsOf(definition), models),
    ...toolsOutside(allowed, definition.tools, connections),
  ].join('; ')
  return why === '' ? undefined : ({ ...of, kind: 'version', why } as const)
}

/** The versions that automations run, with one beside it that has a share of the calls. */
const listRunning = (sql: Queryable, organizationIds: readonly number[]): Promise<Running[]> =>
  sql<Running[]>`
    select d.organization_id, d.automation_id, d.name, v.number,
      v.definition - 'knowledge' as definition
    from deployments d
      cross join lateral (
        select d.project_version_id as id
        union
        select r.version_id from releases r join project_versions p on p.project_id = r.project_id
        where p.id = d.project_version_id) as runs
      join project_versions v on v.id = runs.id
    where d.tests_project_id is null and d.organization_id = any(${organizationIds}::int[])
    order by d.name, v.number limit ${VERSIONS_MAX}`
