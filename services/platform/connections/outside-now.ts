import { modelsOf } from '../definitions/crew-definition.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { isOwnCrew } from '../definitions/own-crew-definition.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isInside, modelsOutside, toolsOutside } from './regions.ts'
import type { AllowedRegions } from './regions.ts'

const PLACES_MAX = 20_000
const VERSIONS_MAX = 500

interface Ruled {
  readonly organizationId: number
  readonly organization: string
  /** Of the automation that it belongs to; null: to none. */
  readonly automationId: string | null
  readonly name: string
}

/** What is outside of the rule of its organization on regions. */
export interface OutsideNow extends Ruled {
  /** A source is a version whose program calls what it likes: no rule holds it. */
  readonly kind: Place['kind'] | 'version' | 'source'
  /** Its id; of a version and a source, its number. */
  readonly id: string
  readonly why: string
}

interface Place extends Ruled {
  readonly allowed: AllowedRegions
  readonly kind: 'llm_connection' | 'connection' | 'webhook' | 'trace_forward'
  readonly id: string
  /** Empty but for an LLM connection. */
  readonly model: string
  readonly region: string | null
}

interface Running extends Ruled {
  readonly allowed: AllowedRegions
  readonly number: string
  readonly definition: CrewDefinition
}

/**
 * Lists what is outside now: connections, webhooks, trace forwards, and the versions that
 * automations run.
 * @default of all organizations that have a rule
 */
export async function findOutsideNow(
  sql: Queryable,
  organizationId?: number,
): Promise<OutsideNow[]> {
  const isRuled = sql`o.allowed_regions <> '{}' and ${
    organizationId === undefined ? sql`true` : sql`o.id = ${organizationId}`
  }`
  const places = await sql<Place[]>`
    select o.id as organization_id, o.name as organization, o.allowed_regions as allowed, p.*
    from organizations o cross join lateral (
      select 'llm_connection' as kind, id::text, name, model, region, null::uuid as automation_id
      from llm_connections where organization_id = o.id
      union all
      select 'connection', id::text, name, '', region, null
      from oauth_connections where organization_id = o.id
      union all
      select 'trace_forward', id::text, name, '', region, null
      from trace_forwards where organization_id = o.id
      union all
      select 'webhook', w.id::text, substring(w.url from '^[a-z]+://[^/?#]+'), '', w.region,
        d.automation_id
      from webhooks w join deployments d on d.id = w.deployment_id
      where d.organization_id = o.id) p
    where ${isRuled} order by o.id, p.kind desc, p.name, p.id limit ${PLACES_MAX}`
  const running = await sql<Running[]>`
    select o.id as organization_id, o.name as organization, o.allowed_regions as allowed,
      d.automation_id, d.name, v.number::text, v.definition - 'knowledge' as definition
    from organizations o join deployments d on d.organization_id = o.id
      cross join lateral (
        select d.project_version_id as id
        union
        select r.version_id from releases r join project_versions p on p.project_id = r.project_id
        where p.id = d.project_version_id) as runs
      join project_versions v on v.id = runs.id
    where d.tests_project_id is null and ${isRuled}
    order by o.id, d.name, v.number limit ${VERSIONS_MAX}`
  return [
    ...places
      .filter((place) => !isInside(place.allowed, place))
      .map((place) => ({
        ...place,
        why: place.region === null ? 'says no region' : `is in ${place.region}`,
      })),
    ...running.flatMap((version) => versionOutside(version, places)),
  ]
}

function versionOutside(version: Running, places: readonly Place[]): OutsideNow[] {
  const { allowed, definition, number: id, name, ...of } = version
  const shown = { ...of, id, name: `${name}, version ${id}` }
  if (isOwnCrew(definition)) {
    return [{ ...shown, kind: 'source', why: 'is a program, which calls what it likes' }]
  }
  const own = places.filter(({ organizationId }) => organizationId === of.organizationId)
  const placed = (kind: Place['kind']) => own.filter((each) => each.kind === kind)
  const why = [
    ...modelsOutside(allowed, modelsOf(definition), placed('llm_connection')),
    ...toolsOutside(allowed, definition.tools, placed('connection')),
  ].join('; ')
  return why === '' ? [] : [{ ...shown, kind: 'version', why }]
}
