import * as v from 'valibot'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Guardrail } from '../definitions/guardrails.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { isDay, plainModel } from '../../shared/prices/price-table.ts'
import { SHIPPED_RETIREMENTS } from './shipped-retirements.ts'

/** So long ahead people are warned. */
export const RETIREMENT_NOTICE_DAYS = 60
const USES_MAX = 100
const DAY_MS = 86_400_000

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256))

const retirement = v.strictObject({
  /** Without what stands before the last slash of a name. */
  models: v.pipe(v.array(v.pipe(name, v.toLowerCase())), v.minLength(1)),
  /** The first day, in UTC, on which calls are refused. */
  on: v.pipe(v.string(), v.check(isDay, 'must be a day such as 2026-11-22')),
  successor: v.optional(name),
  source: v.optional(name),
  /** The vendor's page that the source copies. */
  copies: v.optional(name),
  read_on: v.optional(v.string()),
})

/** A list of retirements, as `{"retirements":[…]}`. */
export const retirementList = v.strictObject({
  retirements: v.pipe(v.array(retirement), v.maxLength(1000)),
})

/** When a provider turns a model off, and what comes in its place. */
interface Retirement {
  readonly on: string
  readonly successor: string | undefined
}

/** The retirements by the plain names of models. */
type Retirements = ReadonlyMap<string, Retirement>

/** Returns the shipped retirements, with those of an operator in the place of some. */
export const retirementsOf = (
  own: v.InferOutput<typeof retirementList> = { retirements: [] },
): Retirements =>
  new Map(
    [...v.parse(retirementList, SHIPPED_RETIREMENTS).retirements, ...own.retirements].flatMap(
      ({ models, on, successor }) => models.map((model) => [model, { on, successor }] as const),
    ),
  )

/** A model that a version calls which runs, and that is turned off soon, or was. */
export interface RetiringModel extends Retirement {
  readonly model: string
  readonly automationId: string
  readonly automationName: string
  readonly projectId: number
  readonly number: number
  /** The version has a share of the calls. */
  readonly isShared: boolean
}

/** Whose models are looked at. @default those of all organizations */
interface Whose {
  readonly organizationId?: number
  readonly deploymentId?: number
}

/**
 * Lists the models that are turned off within 60 days, or were, and that a version calls which an
 * automation runs; the first ones come first, and no more than 100.
 */
export async function listRetiringModels(
  sql: Queryable,
  retirements: Retirements,
  { organizationId, deploymentId }: Whose = {},
): Promise<RetiringModel[]> {
  const soon = soonOf(retirements)
  const rows = await sql<Omit<RetiringModel, keyof Retirement>[]>`
    select d.automation_id, d.name as automation_name, v.project_id, v.number,
      v.id <> d.project_version_id as is_shared, called.model
    from deployments d
      cross join lateral (
        select d.project_version_id as id
        union
        select r.version_id from releases r join project_versions p on p.project_id = r.project_id
        where p.id = d.project_version_id) as runs
      join project_versions v on v.id = runs.id
      cross join lateral (
        select found #>> '{}' as model
        from (
          select jsonb_path_query(v.definition, '$.llm.model')
          union select jsonb_path_query(v.definition, '$.manager_llm.model')
          union select jsonb_path_query(v.definition, '$.agents[*].llm.model')
          union select jsonb_path_query(v.definition, '$.llm.fallbacks[*]')
          union select jsonb_path_query(v.definition, '$.manager_llm.fallbacks[*]')
          union select jsonb_path_query(v.definition, '$.agents[*].llm.fallbacks[*]')
          union select jsonb_path_query(v.definition, '$.tasks[*].guardrail.model')
          union select jsonb_path_query(v.definition, '$.tasks[*].guardrails[*].model')
        ) as models (found)) as called
    where d.tests_project_id is null
      and ${organizationId === undefined ? sql`true` : sql`d.organization_id = ${organizationId}`}
      and ${deploymentId === undefined ? sql`true` : sql`d.id = ${deploymentId}`}
      and lower(regexp_replace(called.model, '^.*/', '')) = any(${[...soon.keys()]})
    limit ${USES_MAX}`
  return rows
    .flatMap((row) => {
      const found = soon.get(plainModel(row.model))
      return found ? [{ ...row, ...found }] : []
    })
    .toSorted((a, b) => (a.on < b.on ? -1 : 1))
}

/** Returns a definition in which successors replace models that are turned off soon. */
export function withSuccessors(crew: CrewDefinition, retirements: Retirements): CrewDefinition {
  const soon = soonOf(retirements)
  const newest = (model: string): string => {
    const { successor } = soon.get(plainModel(model)) ?? {}
    return successor === undefined ? model : model.slice(0, model.lastIndexOf('/') + 1) + successor
  }
  const replaced = <Llm extends { readonly model: string; fallbacks?: string[] | undefined }>(
    llm: Llm,
  ): Llm => {
    const [model = llm.model, ...fallbacks] = new Set(
      [llm.model, ...(llm.fallbacks ?? [])].map(newest),
    )
    return {
      ...llm,
      model,
      ...(llm.fallbacks && { fallbacks: fallbacks.length > 0 ? fallbacks : undefined }),
    }
  }
  const reviewed = (guardrail: Guardrail): Guardrail =>
    guardrail.type === 'llm' && guardrail.model !== undefined
      ? replaced({ ...guardrail, model: guardrail.model })
      : guardrail
  return {
    ...crew,
    llm: replaced(crew.llm),
    ...(crew.manager_llm && { manager_llm: replaced(crew.manager_llm) }),
    agents: crew.agents.map((each) => ({ ...each, ...(each.llm && { llm: replaced(each.llm) }) })),
    tasks: crew.tasks.map((task) => ({
      ...task,
      ...(task.guardrail && { guardrail: reviewed(task.guardrail) }),
      ...(task.guardrails && { guardrails: task.guardrails.map(reviewed) }),
    })),
  }
}

/** Those that are turned off within 60 days, or were. */
function soonOf(retirements: Retirements): Retirements {
  const until = new Date(Date.now() + RETIREMENT_NOTICE_DAYS * DAY_MS).toISOString().slice(0, 10)
  return new Map([...retirements].filter(([, { on }]) => on <= until))
}
