import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { modelsOf } from '../definitions/crew-definition.ts'
import type { RunFailure } from '../runs/run-errors.ts'
import type { Tool, Tools } from '../tools/tool-definitions.ts'
import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { listConnectionsForModels } from './llm-connections.ts'
import { findNamedConnections } from './oauth-connections.ts'
import { connectedTools } from './tool-connections.ts'

/** The most regions of a rule. */
export const REGIONS_MAX = 50

/** The regions in which the data of an organization stays; none: it may go anywhere. */
export type AllowedRegions = readonly string[]

/** What has a region, or says none. */
interface Placed {
  readonly region: string | null
}

/** Returns true where a rule lets data go; what says no region is outside of each rule. */
export const isInside = (allowed: AllowedRegions, { region }: Placed): boolean =>
  allowed.length === 0 || (region !== null && allowed.includes(region))

/** Returns the rule of an organization. */
export async function findAllowedRegions(
  sql: Queryable,
  organizationId: number,
): Promise<AllowedRegions> {
  const [found] = await sql<{ allowedRegions: AllowedRegions }[]>`
    select allowed_regions from organizations where id = ${organizationId}`
  return found?.allowedRegions ?? []
}

/** Changes the rule of an organization. Publications in progress are waited for. */
export async function saveAllowedRegions(
  sql: Queryable,
  organizationId: number,
  allowed: AllowedRegions,
): Promise<void> {
  await sql`
    update organizations set allowed_regions = ${[...allowed]}::text[]
    where id = ${organizationId}`
}

/** Returns what is wrong with a region under a rule, to follow the name of its field. */
export function regionProblem(allowed: AllowedRegions, { region }: Placed): string | undefined {
  if (isInside(allowed, { region })) return undefined
  const given = region === null ? 'None is given' : `Given: ${region}`
  return (
    `must be one of ${allowed.join(', ')}, the regions in which the data of the organization ` +
    `stays. ${given}`
  )
}

/** Raises `unprocessable` for a region outside of those of the organization, and for none. */
export async function requireRegion(
  sql: Queryable,
  organizationId: number,
  placed: Placed,
): Promise<void> {
  const problem = regionProblem(await findAllowedRegions(sql, organizationId), placed)
  if (problem === undefined) return
  throw new AppError('unprocessable', `region ${problem}.`, {
    details: { problems: [`region ${problem}`] },
  })
}

/** A model with the region of its LLM connection. */
interface PlacedModel extends Placed {
  readonly model: string
}

/** A connection with its region. */
interface PlacedConnection extends Placed {
  readonly name: string
}

/** Returns the models that have no LLM connection inside, in words. */
export const modelsOutside = (
  allowed: AllowedRegions,
  models: readonly string[],
  connections: readonly PlacedModel[],
): string[] =>
  allowed.length === 0
    ? []
    : models
        .filter((each) => !connections.some((of) => of.model === each && isInside(allowed, of)))
        .map((each) => `the model ${each} has no LLM connection of an allowed region`)

/** Returns the tools that call something outside, each with the reason. */
export function toolsOutside(
  allowed: AllowedRegions,
  tools: Tools = {},
  connections: readonly PlacedConnection[],
): string[] {
  if (allowed.length === 0) return []
  return Object.entries(tools).flatMap(([key, tool]) => {
    const why = whyOutside(allowed, tool, connections)
    return why === undefined ? [] : [`the tool ${key} ${why}`]
  })
}

/** Of the other types, why they are outside of each rule; undefined: of none. */
const BUILT_IN: Readonly<Record<Exclude<Tool['type'], 'mcp' | 'http'>, string | undefined>> = {
  time: undefined,
  calculator: undefined,
  json_query: undefined,
  // It has runs of its own, under the same rule.
  automation: undefined,
  fetch: 'reads web pages, wherever they are',
}

function whyOutside(
  allowed: AllowedRegions,
  tool: Tool,
  connections: readonly PlacedConnection[],
): string | undefined {
  if (tool.type !== 'mcp' && tool.type !== 'http') return BUILT_IN[tool.type]
  const { connection, region = null } = tool
  const placed =
    connection === undefined ? { region } : connections.find(({ name }) => name === connection)
  if (placed && isInside(allowed, placed)) return undefined
  const where = placed?.region ? `is in ${placed.region}` : 'says no region'
  return connection === undefined ? where : `uses the connection ${connection}, which ${where}`
}

/** Raises `unprocessable` that names all of a version that the rule excludes. */
export async function requireInside(
  sql: Queryable,
  organizationId: number,
  definition: CrewDefinition,
): Promise<void> {
  const known = await listConnectionsForModels(sql, organizationId)
  const { allowedRegions: allowed, connections } = known
  if (allowed.length === 0) return
  const names = connectedTools(definition.tools).map(({ connection }) => connection)
  const ofTools = await findNamedConnections(sql, organizationId, names)
  const outside = [
    ...modelsOutside(allowed, modelsOf(definition), connections),
    ...toolsOutside(allowed, definition.tools, ofTools),
  ]
  if (outside.length === 0) return
  throw new AppError('unprocessable', `${ruleOf(allowed)} ${sentence(outside)}`, {
    details: { code: 'outside_of_regions', problems: outside, allowed_regions: allowed },
  })
}

const ruleOf = (allowed: AllowedRegions): string =>
  `The data of your organization stays in ${allowed.join(', ')}, and the version is outside:`

const sentence = (outside: readonly string[]): string => `${outside.join('; ')}.`

const NAMED_MAX = 20

/** The failure of a run whose version is outside. */
export const outsideFailure = (allowed: AllowedRegions, outside: readonly string[]): RunFailure => {
  const more = outside.length > NAMED_MAX ? [`and ${outside.length - NAMED_MAX} more`] : []
  return {
    code: 'region_not_allowed',
    message:
      `${ruleOf(allowed)} ${sentence([...outside.slice(0, NAMED_MAX), ...more])} Give its ` +
      'connections a region that is allowed, or publish another version.',
  }
}

/** Returns what those are told who deploy a program of their own under a rule; null without one. */
export async function findSourceNote(sql: Queryable, organizationId: number) {
  const allowed = await findAllowedRegions(sql, organizationId)
  if (allowed.length === 0) return null
  return (
    `The data of your organization stays in ${allowed.join(', ')}, and the platform cannot ` +
    'hold a program of your own to that: it calls what it likes. A network policy can.'
  )
}
